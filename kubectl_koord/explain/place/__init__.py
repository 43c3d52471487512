"""A node, or a domain of the topology: what is there, who could use it, what a drain would do."""
