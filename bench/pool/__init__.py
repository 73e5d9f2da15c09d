"""A standing pool, planned and simulated by the core's own functions; nothing is sent."""
