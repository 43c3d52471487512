"""Pages for a browser: HTML to hand on, and the topology tree as a picture."""
