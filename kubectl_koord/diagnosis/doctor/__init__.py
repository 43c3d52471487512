"""What is wrong with a cluster, one module per area; what was not read is never taken as sound."""
