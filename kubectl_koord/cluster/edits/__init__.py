"""What is changed without a cluster, or read to change one: manifests, and where nodes are."""
