"""What a release holds, built from this checkout: the same files twice, byte for byte."""
