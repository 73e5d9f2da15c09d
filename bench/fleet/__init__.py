"""Fleets of relays on the emulated network."""
