"""S3 where the emulator is laxer, slower or larger than it."""
