"""Lambda: processes that are forked, as an execution environment is."""
