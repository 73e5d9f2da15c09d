"""How long a transfer takes, what it costs, and which offer is chosen."""
