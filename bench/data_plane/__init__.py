"""The data plane's speed against its bars and its peers."""
