"""The ways out, one module per family: of the cluster, the gang, running pods, moves, Reservations, quotas."""
