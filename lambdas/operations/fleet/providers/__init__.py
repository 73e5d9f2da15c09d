"""Where relays come from: each provider leases machines for slots of a stage, and takes them back."""
