"""A standing pool, planned and simulated by the core's own functions, and measured with real bytes (`real`)."""
