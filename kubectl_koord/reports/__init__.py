"""The answers as values, one module per verb, and the codes that they carry.

Nothing here computes. Field names are those of the JSON documents, in snake case. Names of pods and gangs are
`namespace/name`, nodes are plain names, amounts whole numbers.
"""
