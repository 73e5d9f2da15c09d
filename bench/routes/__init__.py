"""Routes through third regions, planned on a measured map and in a network that changes; nothing is sent."""
