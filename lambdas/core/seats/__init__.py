"""The daemons on the transfer's two machines."""
