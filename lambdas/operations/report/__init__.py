"""What is told about a transfer after its end."""
