"""`make bench-faults`: what one fault costs a transfer: every fault, every machine that it can hit, several moments."""
