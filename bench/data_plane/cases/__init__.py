"""The cases by name: each is a function from `Bench` to results."""
