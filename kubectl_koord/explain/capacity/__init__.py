"""Questions about what there is: domains, nodes, devices and quotas."""
