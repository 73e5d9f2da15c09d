"""The accepted transfer, its key, its format and how it may fail."""
