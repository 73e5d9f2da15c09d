"""A transfer while it runs, as its records tell it."""
