"""Real agents from npm against the loopback provider. Nothing here is skipped: an agent that cannot be installed is a
failure."""
