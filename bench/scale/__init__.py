"""Plans, verifications and reports of the largest transfers, in the memory that the Lambdas have."""
