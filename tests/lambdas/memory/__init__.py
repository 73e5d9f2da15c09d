"""Twins of the adapters, in memory; the suites of tests/lambdas/adapters hold both to the same behaviour."""
