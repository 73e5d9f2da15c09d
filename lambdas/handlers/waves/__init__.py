"""Handlers that are tasks of the state machine of waves."""
