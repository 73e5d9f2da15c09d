"""Lambda functions of Cloud Parallel Transfer: one handler per state or event rule."""
