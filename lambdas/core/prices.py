"""Fallback prices, dollars; gathered 2026-11-21 from AWS's price list, Linux on demand."""

from typing import NamedTuple


class HourPrice(NamedTuple):
    """Dollars per hour in us-west-2 and eu-west-1."""

    oregon: float
    ireland: float


INSTANCE_HOUR = {
    "t3.micro": HourPrice(0.0104, 0.0114),
    "t3.small": HourPrice(0.0208, 0.0228),
    "t3.medium": HourPrice(0.0416, 0.0456),
    "t4g.micro": HourPrice(0.0084, 0.0092),
    "t4g.small": HourPrice(0.0168, 0.0184),
    "t4g.medium": HourPrice(0.0336, 0.0368),
    "m5.large": HourPrice(0.096, 0.107),
    "m6in.xlarge": HourPrice(0.27846, 0.31122),
    "m7g.medium": HourPrice(0.0408, 0.0455),
    "c6gn.medium": HourPrice(0.0432, 0.0488),
    "c6gn.xlarge": HourPrice(0.1728, 0.1952),
    "c7gn.medium": HourPrice(0.0624, 0.0705),
    "c6in.large": HourPrice(0.1134, 0.1281),
}
# An unknown type is priced like the dearest known one: an estimate must not promise too little.
UNKNOWN_INSTANCE_HOUR = max(INSTANCE_HOUR.values())
PUBLIC_ADDRESS_HOUR = 0.005
EGRESS_BETWEEN_REGIONS_GB = 0.02
MINIMUM_BILLED_SECONDS = 60.0


def instance_hour(instance_type: str, region: str) -> float:
    """Dollars per hour of one instance; regions outside Oregon are priced like Ireland, the dearer one."""
    price = INSTANCE_HOUR.get(instance_type, UNKNOWN_INSTANCE_HOUR)
    return price.oregon if region == "us-west-2" else price.ireland


def egress_gb(between_regions: bool) -> float:
    """Dollars per GB (10^9 bytes) out of the source's region."""
    return EGRESS_BETWEEN_REGIONS_GB if between_regions else 0.0
