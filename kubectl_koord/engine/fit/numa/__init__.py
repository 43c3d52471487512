"""NodeNUMAResource: CPUs that are bound, NUMA zones, and nodes that tell more CPUs than they have.

Mirrors pkg/scheduler/plugins/nodenumaresource. Its filter is three here, as they depend on different things:
`settings`, `amplified` and `placing`, in this order.
"""
