"""Why a node refuses a pod, and why a job is refused before any node: closed unions of frozen classes."""
