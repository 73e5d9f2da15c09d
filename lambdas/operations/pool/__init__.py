"""What the function of the pool does with its nodes."""
