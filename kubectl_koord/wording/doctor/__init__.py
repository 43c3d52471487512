"""The sentences of `doctor`: what was found in each area, and what to do about it."""
