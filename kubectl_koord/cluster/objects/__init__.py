"""What an API object means: wire types, and their reduction to model values."""
