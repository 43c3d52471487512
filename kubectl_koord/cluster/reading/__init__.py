"""Bytes to objects, whatever they come from: lists, files, streams, within bounds."""
