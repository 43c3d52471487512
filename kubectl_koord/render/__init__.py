"""Reports as text, JSON and YAML. Nothing here decides anything.

A page turns a report into blocks (`document`), a writer turns blocks into text (`plain`,
`terminal`). Pages hold text as it came; the writers alone make it harmless (`escape`).
"""
