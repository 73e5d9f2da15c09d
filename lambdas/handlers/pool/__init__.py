"""Handlers of the pool's own stack, which a schedule invokes."""
