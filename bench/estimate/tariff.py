"""What the emulated AWS charges, by its own price list, and by AWS's pages for what that list does not have."""

from collections.abc import Iterable

from bench.estimate.arithmetic import Tariff
from lambdas.core.tariff.prices import PriceBook
from local.patches.market.list_prices import DISK_GB_MONTH, EGRESS_GB, PUBLIC_ADDRESS_HOUR, REGIONS, instance_hour

DISK_GB, HOURS_A_MONTH = 8, 730
# A cent on either side.
ZONE_GB = 0.02
# us-west-2, November 2026: Standard workflows, x86-64 functions, on-demand tables, custom events, S3 Standard.
CALL = {
    "transitions": 25e-6,
    "lambdaRequests": 0.2e-6,
    "lambdaGBSeconds": 16.6667e-6,
    "tableWrites": 0.625e-6,
    "tableReads": 0.125e-6,
    "events": 1e-6,
    "objectPuts": 5e-6,
    "objectGets": 0.4e-6,
}


def tariff(
    instance_type: str, *, in_zones: bool = False, third: Iterable[str] = (), others: Iterable[str] = ()
) -> Tariff:
    """For relays of a type that the price list has, `others` too, and data that leaves its region, or only its zone.

    The emulated price list has none of the `third` regions, so CPT's own table says what these charge.
    """
    beside = {region: PUBLIC_ADDRESS_HOUR + DISK_GB_MONTH[region] * DISK_GB / HOURS_A_MONTH for region in REGIONS}
    hours = {region: (instance_hour(instance_type, region) or 0.0) + dollars for region, dollars in beside.items()}
    other = {
        (kind, region): (instance_hour(kind, region) or 0.0) + dollars
        for kind in others
        for region, dollars in beside.items()
    }
    table, further = PriceBook(), {}
    for region in third:
        hours[region] = table.instance_hour(instance_type, region).usd
        hours[region] += table.beside_instance_hour(instance_type, region, public=True)
        further[region] = table.unit("egress-gb", region).usd
    return Tariff(hours, ZONE_GB if in_zones else EGRESS_GB, CALL, further, other)
