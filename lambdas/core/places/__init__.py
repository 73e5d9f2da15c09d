"""Where in a network data lies and relays stand."""
