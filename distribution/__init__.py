"""What is made of the package for those who install it: man pages, completion, archives, manifests, roles."""
