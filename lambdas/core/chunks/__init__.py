"""Chunks: what they are, how they are cut, retried and compared."""
