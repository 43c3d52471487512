"""What a node is made of: devices, CPUs and zones, and what pods hold of them."""
