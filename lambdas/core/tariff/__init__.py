"""What AWS charges and allows."""
