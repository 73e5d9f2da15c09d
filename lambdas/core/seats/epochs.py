"""Epochs of an end: each of its processes has one of its own, and whoever has a later one counts.

The control plane counts the starts that it orders. An order names the first epoch of its start; a process that the
service manager starts again with the same order claims the next epoch itself.
"""

# As the daemon's `PROCESSES_PER_START`: five starts a minute for 8 days are 57 600.
PROCESSES_PER_START = 1 << 16


def first_epoch(start: int) -> int:
    """The epoch of the first process of a start, which are counted from 1."""
    return start * PROCESSES_PER_START


def start_of(epoch: int) -> int:
    """The start that a process of this epoch is of."""
    return epoch // PROCESSES_PER_START


def restarts_of(epoch: int) -> int:
    """Return how many processes of the same start came before it, on their own machine."""
    return epoch % PROCESSES_PER_START
