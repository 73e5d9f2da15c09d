"""Mutants: the product with one drawn change each, which some test must notice."""
