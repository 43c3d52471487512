"""Kinds of Koordinator, and what its scheduler's configuration and endpoints say: a module each."""
