"""Requests and answers held against AWS's own models of its services, as botocore has them."""
