"""Values that anything may be made of: quantities, moments, selectors, and what is computed once."""
