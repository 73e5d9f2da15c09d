"""Machines and their rates, scaled so that two cores carry them beside Hadoop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WORKER, RUNNER, SMALL = "t3.small", "c6in.large", "m6in.large"
"""Types of the local cloud: of the clusters' machines and of relays like them (the dissertation's m4.large), of the
machine on which DistCp's maps run, and of relays that are too small for Hadoop (its t2.micro).
"""
SMALL_SHARE = 13.4 / 11.0
"""Rate of t2.micro between regions over that of m4.large, as in Figures 6.5 to 6.9 of docs/models.md."""
WORKERS, MAPS = 2, 7


@dataclass(frozen=True)
class Rates:
    """What a worker may exchange with other regions and inside its own, MB/s, and what DistCp gives a map.

    `map_mib_s`: DistCp's own limit, `-bandwidth`, in its own unit: MiB/s.
    """

    worker_mb_s: float = 5.0
    inside_mb_s: float = 50.0
    map_mib_s: float = 1.25

    @property
    def sum_mb_s(self) -> float:
        """Of all workers of one side."""
        return self.worker_mb_s * WORKERS

    @property
    def map_mb_s(self) -> float:
        """Of one map, MB/s."""
        return self.map_mib_s * (1 << 20) / 1e6

    def caps(self) -> dict[str, Any]:
        """As the local cloud takes them. DistCp's maps share one machine, with the caps of all workers together."""
        worker = {"interRegionMBps": self.worker_mb_s, "intraRegionMBps": self.inside_mb_s}
        return {
            **worker,
            "byType": {
                RUNNER: {name: value * WORKERS for name, value in worker.items()},
                SMALL: {**worker, "interRegionMBps": self.worker_mb_s * SMALL_SHARE},
            },
        }
