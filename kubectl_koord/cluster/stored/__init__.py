"""Objects, manifests and answers out of files."""
