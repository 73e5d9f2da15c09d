"""Handlers that a rule or a schedule invokes."""
