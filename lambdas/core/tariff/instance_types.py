"""What AWS publishes about an instance type in one region."""

from dataclasses import dataclass, replace
from typing import Literal

from lambdas.core.architecture import Architecture

MB_PER_GBIT = 125.0
NETWORK_WEIGHTING = "vpc-1"
"""EC2's name for a launch whose network has part of what its disks may move."""
MORE_PERCENT = 25
"""Of the network's baseline, beside the usual one; the disks' is less by as many Gbps."""
WEIGHTED = 1 + MORE_PERCENT / 100
SIZES = (
    "nano", "micro", "small", "medium", "large", "xlarge", "2xlarge", "3xlarge", "4xlarge",
    "6xlarge", "8xlarge", "9xlarge", "12xlarge", "16xlarge", "18xlarge", "24xlarge", "32xlarge", "48xlarge",
)  # fmt: skip
"""That a family may have, the smallest first."""


def larger_types(instance_type: str) -> list[str]:
    """The same family's larger sizes, whether AWS has them or not; none of a size that is none of `SIZES`."""
    family, _, size = instance_type.partition(".")
    return [f"{family}.{larger}" for larger in SIZES[SIZES.index(size) + 1 :]] if size in SIZES else []


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
    takes_weighting: bool = False
    """Whether it can be launched with `NETWORK_WEIGHTING`."""
    is_weighted: bool = False
    """Whether it is; then its figures are those of such a launch."""
    origin: Literal["published"] = "published"

    @property
    def as_relay(self) -> "TypeFacts":
        """As relays are launched: their disks have nothing to do. A burst reaches no higher than without it."""
        if not self.takes_weighting or self.is_weighted:
            return self
        baseline = self.baseline_gbps * WEIGHTED
        moved = (baseline - self.baseline_gbps) * MB_PER_GBIT
        return replace(
            self,
            baseline_gbps=baseline,
            peak_gbps=max(self.peak_gbps, baseline),
            disk=max(self.disk - moved, 0.0),
            peak_disk=max(self.peak_disk - moved, 0.0),
            is_weighted=True,
        )

    @property
    def network(self) -> float:
        """MB/s that it may always send or receive in all."""
        return self.baseline_gbps * MB_PER_GBIT

    @property
    def bursts(self) -> bool:
        """Whether its network runs above its baseline while credits last (5 to 60 minutes; AWS publishes no more)."""
        return self.peak_gbps > self.baseline_gbps
