"""Environment, AWS clients, logging, tracing and metrics."""
