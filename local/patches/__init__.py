"""What the emulator lacks. One module per behaviour; each docstring says what AWS does and how the emulator differs."""
