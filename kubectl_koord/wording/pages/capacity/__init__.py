"""Sentences of the pages about what there is: domains, nodes, devices and quotas."""
