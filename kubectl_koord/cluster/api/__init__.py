"""How we get to the API server: kubectl's proxy or the client library, limits, replies."""
