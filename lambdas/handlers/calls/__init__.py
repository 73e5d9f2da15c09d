"""Handlers that people invoke, by the command line."""
