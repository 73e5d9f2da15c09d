"""Handlers that are tasks of the state machine."""
