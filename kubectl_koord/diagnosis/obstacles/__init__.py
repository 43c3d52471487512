"""What stands in the way, as answers carry it: a module per cards, quotas, reservations, other jobs."""
