"""IAM: who may do what, and whose credentials these are."""
