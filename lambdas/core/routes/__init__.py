"""Routes through third regions: which regions data passes, and how many relays each of them gets."""
