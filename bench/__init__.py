"""Measurements: each writes bench/out/NAME.json."""
