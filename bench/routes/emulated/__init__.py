"""Routes with real bytes: daemons in network namespaces, whose links are capped and change every minute."""
