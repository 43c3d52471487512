"""What TAB offers, and the scripts of shells that ask for it."""
