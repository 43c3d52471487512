"""CEL expressions, as far as selectors of devices use them (k8s.io/dynamic-resource-allocation/cel).

`compiling` answers whether a device matches one. What is outside the subset is told, never guessed. The API server has
checked types before it stored an expression, so they are not checked again.
"""
