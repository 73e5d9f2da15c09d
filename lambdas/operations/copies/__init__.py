"""What several functions do so that S3 copies from bucket to bucket."""
