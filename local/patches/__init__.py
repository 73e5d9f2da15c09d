"""Patches for what the emulator lacks, by service. Each docstring says what AWS does and how the emulator differs."""
