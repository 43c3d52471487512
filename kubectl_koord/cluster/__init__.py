"""Everything that knows Kubernetes: connecting, listing, decoding, and the one module that writes."""
