"""Ways out, each proven by simulating it, and next steps."""
