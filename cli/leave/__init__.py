"""What keeps a deployment from being removed, and what is left of it then."""
