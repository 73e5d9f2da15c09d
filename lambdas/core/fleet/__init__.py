"""Relays: chosen, started, paired, watched and replaced."""
