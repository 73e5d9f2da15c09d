"""The report of a transfer after its end."""
