"""The resources that keep a deployment from being removed, and those that are left of it."""
