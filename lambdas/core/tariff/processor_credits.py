"""What a burstable instance may cost beyond its price: processor credits that it spends and has not earned.

T3, T3a and T4g launch with credits without a limit unless the account says otherwise, and pay for what they used above
their baseline (docs/design/006-estimate.md). Counted as if all processors were busy all the time, which no
bill exceeds. A T2 is counted like them, though it has to be told to do so.
"""

import re
from dataclasses import dataclass

# Dollars per vCPU and hour, Linux, in every region.
VCPU_HOUR = 0.05
VCPU_HOUR_T4G = 0.04
# Of each size: vCPUs, and how much of each of them the price covers. A T2 has no more vCPUs than that.
SIZES = {
    "nano": (2, 0.05),
    "micro": (2, 0.10),
    "small": (2, 0.20),
    "medium": (2, 0.20),
    "large": (2, 0.30),
    "xlarge": (4, 0.40),
    "2xlarge": (8, 0.40),
}
# A T2 covers less of each vCPU than its namesake: 22.5 % (xlarge) and 17 % (2xlarge).
SIZES_T2 = {**SIZES, "xlarge": (4, 0.225), "2xlarge": (8, 0.17)}
# The small ones have a single one.
T2_VCPUS = {"nano": 1, "micro": 1, "small": 1}
_BURSTABLE = re.compile(r"t\d")


def most_surplus_hour(instance_type: str) -> float:
    """The most that credits add to an hour of the type, dollars; a size that is not known counts as the largest."""
    family, _, size = instance_type.partition(".")
    if _BURSTABLE.match(family) is None:
        return 0.0
    sizes = SIZES_T2 if family == "t2" else SIZES
    vcpus, covered = sizes.get(size, (8, 0.0))
    return vcpus * (1 - covered) * (VCPU_HOUR_T4G if family == "t4g" else VCPU_HOUR)


# A T2 that was launched just now has so many credits of a vCPU-minute for each vCPU; it keeps what it earns in a day.
LAUNCH_CREDITS = 30
DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Earned:
    """Credits of a type that may not spend what it has not earned: the share of its processors that lasts, and what it
    may have saved in a day and has at launch, seconds of one vCPU.
    """

    share: float
    day_vcpu_seconds: float
    launch_vcpu_seconds: float


def earned(instance_type: str) -> Earned | None:
    """What a T2 has to get along with, as AWS launches it; None for any other type."""
    family, _, size = instance_type.partition(".")
    if family != "t2" or size not in SIZES_T2:
        return None
    vcpus, covered = T2_VCPUS.get(size, SIZES_T2[size][0]), SIZES_T2[size][1]
    return Earned(covered, vcpus * covered * DAY_SECONDS, vcpus * LAUNCH_CREDITS * 60)
