"""EC2 instances on this machine: processes on loopback addresses, or network namespaces."""
