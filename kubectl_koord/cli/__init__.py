"""The shell around the program: flags in, exit code out; the only place that prints or asks."""
