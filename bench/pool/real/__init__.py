"""A standing pool with real bytes: nodes, users and their ends are network namespaces of a local cloud."""
