"""What a command prints besides pages: formats for scripts, and what listings can be asked for."""
