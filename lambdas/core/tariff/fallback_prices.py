"""Prices for when AWS's price list cannot be asked: dollars, gathered by hand on `AS_OF`, Linux on demand."""

from datetime import UTC, datetime

AS_OF = datetime(2026, 11, 21, tzinfo=UTC).timestamp()

# Dollars per hour of a family's `large`, by region: within a family AWS's prices are proportional to size.
LARGE_HOUR = {
    "t3": {"us-west-2": 0.0832, "eu-west-1": 0.0912},
    "t4g": {"us-west-2": 0.0672, "eu-west-1": 0.0736},
    "m5": {"us-west-2": 0.096, "eu-west-1": 0.107},
    "m6i": {"us-west-2": 0.096, "eu-west-1": 0.107},
    "m6in": {"us-west-2": 0.13923, "eu-west-1": 0.15561},
    "m7g": {"us-west-2": 0.0816, "eu-west-1": 0.091},
    "c6gn": {"us-west-2": 0.0864, "eu-west-1": 0.0976},
    "c7gn": {"us-west-2": 0.1248, "eu-west-1": 0.141},
    "c6in": {"us-west-2": 0.1134, "eu-west-1": 0.1281},
}
LARGES = {"nano": 1 / 16, "micro": 1 / 8, "small": 1 / 4, "medium": 1 / 2, "large": 1, "xlarge": 2}
# Of a size that has no number: no instance is larger than 48xlarge.
LARGEST = 96.0
# São Paulo, the dearest of the commercial regions, asks 1.62 times Oregon's price of a t3.
ELSEWHERE = 1.62

EGRESS_GB = {"us-west-2": 0.02, "eu-west-1": 0.02}
# Cape Town's: no commercial region asks more.
EGRESS_GB_ELSEWHERE = 0.147
DISK_GB_MONTH = {"us-west-2": 0.08, "eu-west-1": 0.088}
DISK_GB_MONTH_ELSEWHERE = 0.152

# The same in every commercial region.
PUBLIC_ADDRESS_HOUR = 0.005
CROSS_ZONE_GB = 0.01
# Data that a VPC's attachment hands to a transit gateway; what comes from a peered gateway is free.
TRANSIT_GATEWAY_GB = 0.02
# For comparison alone: DataSync's Basic mode, which file systems need, and S3 Standard, us-west-2.
DATASYNC_GB = 0.0125
BUCKET_GB_MONTH = 0.023

# Control plane, us-west-2, per single unit: state transition, GB-second (x86-64), request, write and read unit, event.
STATE_TRANSITION = 0.025 / 1e3
LAMBDA_GB_SECOND = 0.0000166667
LAMBDA_REQUEST = 0.20 / 1e6
TABLE_WRITE = 0.625 / 1e6
TABLE_READ = 0.125 / 1e6
EVENT = 1.00 / 1e6
OBJECT_PUT = 0.005 / 1e3
OBJECT_GET = 0.0004 / 1e3


def instance_hour(instance_type: str, region: str) -> float | None:
    """Dollars per hour on demand; None for a family or size that is not in the table."""
    family, _, size = instance_type.partition(".")
    prices = LARGE_HOUR.get(family)
    larges = _larges(size)
    if prices is None or larges is None:
        return None
    return larges * prices.get(region, prices["us-west-2"] * ELSEWHERE)


def dearest_hour(instance_type: str, region: str) -> float:
    """Dollars per hour of a size in the dearest family of the table: a bound for other families, accelerators apart."""
    size = instance_type.partition(".")[2].removeprefix("metal-")
    larges = _larges(size if size.endswith("xlarge") else size.replace("xl", "xlarge")) or LARGEST
    return larges * max(prices.get(region, prices["us-west-2"] * ELSEWHERE) for prices in LARGE_HOUR.values())


def _larges(size: str) -> float | None:
    """How many `large` a size counts: `4xlarge` is 8."""
    times = size.removesuffix("xlarge")
    return 2.0 * int(times) if times.isdecimal() else LARGES.get(size)
