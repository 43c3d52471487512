"""The cluster as it changes, full screen: what is answered beside the screen, what it shows, and the screen."""
