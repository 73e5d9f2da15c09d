"""Waves: one tree moved by several transfers under a label, until a last one cuts over."""
