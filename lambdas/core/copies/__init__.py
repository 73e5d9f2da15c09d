"""How S3 copies what lies between two buckets: what is copied, in which pieces, and what proves it."""
