"""What an instance type may send: the profile if there is one, else AWS's published limits."""

from dataclasses import dataclass
from typing import Literal

Origin = Literal["measured", "configured", "assumed"]

MB_PER_GBIT = 125.0
INTERNET_GATEWAY_GBPS = 5.0
MANY_VCPUS = 32
SPAWN_SECONDS = 90.0
UNKNOWN_GBPS = 0.75

# Baseline Gbps per size; burst credits last 5 to 60 minutes and are not counted on.
BASELINE_GBPS = {
    "m5": {"large": 0.75, "xlarge": 1.25, "2xlarge": 2.5, "4xlarge": 5, "8xlarge": 10},
    "m6i": {"large": 0.781, "xlarge": 1.562, "2xlarge": 3.125, "4xlarge": 6.25, "8xlarge": 12.5},
    "m6in": {"large": 3.125, "xlarge": 6.25, "2xlarge": 12.5, "4xlarge": 25, "8xlarge": 50},
    "c6in": {"large": 3.125, "xlarge": 6.25, "2xlarge": 12.5, "4xlarge": 25, "8xlarge": 50},
    "m7g": {"medium": 0.52, "large": 0.937, "xlarge": 1.876, "2xlarge": 3.75, "4xlarge": 7.5, "8xlarge": 15},
    "c6gn": {"medium": 1.6, "large": 3, "xlarge": 6.3, "2xlarge": 12.5, "4xlarge": 25, "8xlarge": 50},
    "c7gn": {"medium": 3.125, "large": 6.25, "xlarge": 12.5, "2xlarge": 25, "4xlarge": 50, "8xlarge": 100},
    "t3": {"micro": 0.064, "small": 0.128, "medium": 0.256},
    "t4g": {"micro": 0.064, "small": 0.128, "medium": 0.256},
}
_VCPUS = {"medium": 1, "large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16, "8xlarge": 32}


@dataclass(frozen=True)
class Profile:
    """Rates of one instance type on one region pair, MB/s; `spawn_seconds` is T_v."""

    inter_region: float
    intra_region: float
    spawn_seconds: float
    origin: Origin


def published(instance_type: str, *, between_regions: bool, internet: bool, vcpus: int | None = None) -> Profile:
    """AWS's published limits, marked assumed; an unknown type counts like m5.large, the least of the fixed ones."""
    family, _, size = instance_type.partition(".")
    baseline = BASELINE_GBPS.get(family, {}).get(size, UNKNOWN_GBPS)
    outward = baseline
    if between_regions and internet:
        many = (vcpus or _VCPUS.get(size, 0)) >= MANY_VCPUS
        outward = min(baseline, max(INTERNET_GATEWAY_GBPS, baseline / 2) if many else INTERNET_GATEWAY_GBPS)
    return Profile(outward * MB_PER_GBIT, baseline * MB_PER_GBIT, SPAWN_SECONDS, "assumed")


@dataclass(frozen=True)
class Figures:
    """What an estimate is computed from: MB/s, seconds, dollars."""

    source: float
    destination: float
    direct: float
    pair: float
    spawn_seconds: float
    relay_hour_usd: float
    egress_usd_per_gb: float
    origin: Origin


def combine(
    source: Profile,
    destination: Profile,
    relay: Profile,
    *,
    relay_hour_usd: float,
    egress_usd_per_gb: float,
    limit_mbps: int | None = None,
) -> Figures:
    """V_src, V_dst, v_e(ends), v_e(pair), with the weakest figure's origin; `limit_mbps`: the request's, Mbit/s."""
    order: list[Origin] = ["measured", "configured", "assumed"]
    origin = max((source.origin, destination.origin, relay.origin), key=order.index)
    cap = limit_mbps / 8 if limit_mbps else float("inf")
    return Figures(
        source=min(source.intra_region, cap),
        destination=destination.intra_region,
        direct=min(source.inter_region, destination.inter_region, cap),
        pair=min(relay.inter_region, relay.intra_region),
        spawn_seconds=relay.spawn_seconds,
        relay_hour_usd=relay_hour_usd,
        egress_usd_per_gb=egress_usd_per_gb,
        origin=origin,
    )
