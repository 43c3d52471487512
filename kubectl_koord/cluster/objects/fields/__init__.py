"""What objects of many kinds have in common."""
