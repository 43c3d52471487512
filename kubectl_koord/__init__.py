"""kubectl koord: why a gang on Koordinator does not run, from the objects of the cluster alone."""

__version__ = "0.9.0"
