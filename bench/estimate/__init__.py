"""The estimator against the emulated network."""
