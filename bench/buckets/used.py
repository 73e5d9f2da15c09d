"""What one transfer took."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Used:
    """Seconds from the start of the client to its end, and CPU time of all of its processes."""

    seconds: float
    cpu_seconds: float
