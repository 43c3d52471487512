"""A cluster in which pods, nodes and the jobs that wait differ as they do where people work.

`plan` says which pods there are and where, `cluster` yields the objects of each list; the same size gives the same
bytes. What the controllers, koordlet and the scheduler write on objects is there, too.
"""
