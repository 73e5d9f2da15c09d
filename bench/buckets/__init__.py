"""Transfers with a bucket at an end, beside the best clients of S3."""
