"""What a finished transfer teaches about machines and paths."""
