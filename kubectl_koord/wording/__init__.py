"""Where reasons, amounts and times become English."""
