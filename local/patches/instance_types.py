"""DescribeInstanceTypes with network figures.

AWS: each type has its vCPUs, memory, architecture, and baseline and peak bandwidth of its network card, by which
transfers are estimated.
Emulator: says 8 vCPU, x86 and no bandwidth figures for most types, and accepts any name.
"""

from __future__ import annotations

from typing import Any

from local.patches.ec2_wire import answer, filters_of, matches, members, refuse
from local.patches.images import architecture_of
from local.patches.upstream import ec2

# family -> size -> (baseline, peak) in Gbps; us-west-2, November 2026
NETWORK: dict[str, dict[str, tuple[float, float]]] = {
    "t3": {"micro": (0.064, 5), "small": (0.128, 5), "medium": (0.256, 5)},
    "t4g": {"micro": (0.064, 5), "small": (0.128, 5), "medium": (0.256, 5)},
    "m5": {"large": (0.75, 10), "xlarge": (1.25, 10), "2xlarge": (2.5, 10), "4xlarge": (5, 10), "8xlarge": (10, 10)},
    "m6i": {
        "large": (0.781, 12.5),
        "xlarge": (1.562, 12.5),
        "2xlarge": (3.125, 12.5),
        "4xlarge": (6.25, 12.5),
        "8xlarge": (12.5, 12.5),
    },
    "m6in": {
        "large": (3.125, 25),
        "xlarge": (6.25, 30),
        "2xlarge": (12.5, 40),
        "4xlarge": (25, 50),
        "8xlarge": (50, 50),
    },
    "c6in": {
        "large": (3.125, 25),
        "xlarge": (6.25, 30),
        "2xlarge": (12.5, 40),
        "4xlarge": (25, 50),
        "8xlarge": (50, 50),
    },
    "m7g": {
        "medium": (0.52, 12.5),
        "large": (0.937, 12.5),
        "xlarge": (1.876, 12.5),
        "2xlarge": (3.75, 15),
        "4xlarge": (7.5, 15),
        "8xlarge": (15, 15),
    },
    "c6gn": {
        "medium": (1.6, 16),
        "large": (3, 25),
        "xlarge": (6.3, 25),
        "2xlarge": (12.5, 25),
        "4xlarge": (25, 25),
        "8xlarge": (50, 50),
    },
    "c7gn": {
        "medium": (3.125, 25),
        "large": (6.25, 30),
        "xlarge": (12.5, 40),
        "2xlarge": (25, 50),
        "4xlarge": (50, 50),
        "8xlarge": (100, 100),
    },
}
VCPUS = {"micro": 2, "small": 2, "medium": 1, "large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16, "8xlarge": 32}
GIB_PER_VCPU = {"c": 2, "m": 4}
BURSTABLE_GIB = {"micro": 1, "small": 2, "medium": 4}


def install() -> None:
    """Take over DescribeInstanceTypes."""
    ec2._ACTION_MAP["DescribeInstanceTypes"] = _describe


def _describe(params: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    known = [f"{family}.{size}" for family, sizes in NETWORK.items() for size in sizes]
    wanted = members(params, "InstanceType")
    filters = filters_of(params)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        return refuse(
            "InvalidInstanceType", f"The following supplied instance types do not exist: [{', '.join(unknown)}]", 400
        )
    patterns = filters.get("instance-type")
    chosen = [
        name for name in wanted or known if patterns is None or any(matches(pattern, name) for pattern in patterns)
    ]
    items = "".join(_item(name) for name in chosen)
    return answer("DescribeInstanceTypes", f"<instanceTypeSet>{items}</instanceTypeSet>")


def _item(name: str) -> str:
    family, size = name.split(".")
    baseline, peak = NETWORK[family][size]
    burstable = family.startswith("t")
    vcpus = 2 if burstable else VCPUS[size]
    memory = BURSTABLE_GIB[size] if burstable else vcpus * GIB_PER_VCPU[family[0]]
    performance = f"{peak:g} Gigabit" if baseline == peak else f"Up to {peak:g} Gigabit"
    return (
        f"<item><instanceType>{name}</instanceType><currentGeneration>true</currentGeneration>"
        f"<burstablePerformanceSupported>{str(burstable).lower()}</burstablePerformanceSupported>"
        "<supportedUsageClasses><item>on-demand</item><item>spot</item></supportedUsageClasses>"
        "<processorInfo><supportedArchitectures>"
        f"<item>{architecture_of(name)}</item></supportedArchitectures></processorInfo>"
        f"<vCpuInfo><defaultVCpus>{vcpus}</defaultVCpus></vCpuInfo>"
        f"<memoryInfo><sizeInMiB>{memory * 1024}</sizeInMiB></memoryInfo>"
        f"<networkInfo><networkPerformance>{performance}</networkPerformance>"
        "<maximumNetworkCards>1</maximumNetworkCards><defaultNetworkCardIndex>0</defaultNetworkCardIndex>"
        f"<networkCards><item><networkCardIndex>0</networkCardIndex><networkPerformance>{performance}</networkPerformance>"
        f"<baselineBandwidthInGbps>{baseline}</baselineBandwidthInGbps>"
        f"<peakBandwidthInGbps>{float(peak)}</peakBandwidthInGbps></item></networkCards></networkInfo></item>"
    )
