"""What has been spent so far."""
