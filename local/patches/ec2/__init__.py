"""EC2 as AWS has it."""
