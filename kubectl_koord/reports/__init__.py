"""The answers as values, one module per verb, and the codes that they carry.

Nothing here computes; field names are those of the JSON documents.
"""
