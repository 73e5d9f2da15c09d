"""The record of a transfer, and how it may change."""
