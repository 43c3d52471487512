"""Kinds of Kubernetes, a module each; pods have a folder of their own."""
