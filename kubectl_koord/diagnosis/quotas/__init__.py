"""What quotas mean for those who wait: what they hold back, admit and evict, and what is wrong with them."""
