"""What is known of machines before anything was measured: configured figures in the profile table."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from cli.aws import Aws


def tell_figures(
    aws: Aws, region_pair: str, instance_types: Iterable[str], caps: Mapping[str, float], spawn_seconds: float
) -> None:
    """Put the same figures for each type: `caps` has interRegionMBps and intraRegionMBps; `spawn_seconds` is T_v."""
    table = aws.resource("dynamodb").Table(f"{aws.deployment}-profiles")
    for instance_type in instance_types:
        table.put_item(
            Item={
                "instanceType": instance_type,
                "regionPair": region_pair,
                "interRegionMBps": Decimal(str(caps["interRegionMBps"])),
                "intraRegionMBps": Decimal(str(caps["intraRegionMBps"])),
                "spawnSeconds": Decimal(str(spawn_seconds)),
                "origin": "configured",
            }
        )
