"""What AWS publishes about an instance type in one region."""

from dataclasses import dataclass
from typing import Literal

from lambdas.core.architecture import Architecture

MB_PER_GBIT = 125.0


@dataclass(frozen=True)
class TypeFacts:
    """One type: Gbps of its default network card, MB/s of its EBS volumes in all.

    Of a type with several cards only the default one counts: relays, and nearly all machines, have one interface.
    """

    instance_type: str
    vcpus: int
    architecture: Architecture
    baseline_gbps: float
    peak_gbps: float
    disk: float
    peak_disk: float
    burstable_processor: bool
    zones: frozenset[str]
    """Availability zones that offer it."""
    origin: Literal["published"] = "published"

    @property
    def network(self) -> float:
        """MB/s that it may always send or receive in all."""
        return self.baseline_gbps * MB_PER_GBIT

    @property
    def bursts(self) -> bool:
        """Whether its network runs above its baseline while credits last (5 to 60 minutes; AWS publishes no more)."""
        return self.peak_gbps > self.baseline_gbps
