"""One question per module: a snapshot goes in, a report comes out.

Reports are values with the field names of the JSON documents; the pages that print them decide nothing.
"""
