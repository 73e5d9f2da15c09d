"""One file per AWS service, each with its in-memory twin in `memory`."""
