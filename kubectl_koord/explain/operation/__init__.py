"""Questions of those who run the cluster: what is wrong, what differs, what the scheduler believes."""
