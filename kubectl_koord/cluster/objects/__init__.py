"""API objects: for each kind the fields that are read, and the value that is kept.

The fields are spelled as in the API; all others are skipped unparsed. Every field but `metadata` may be absent. Null
is accepted where the type says None: lists, maps, and what is a pointer in the API's own types; elsewhere it is
refused, with the name of the field, and so is a number that the API's own type does not hold.
"""
