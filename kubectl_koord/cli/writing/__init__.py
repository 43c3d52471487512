"""What verbs that write have in common: flags, the plan and its confirmation, sending, manifests."""
