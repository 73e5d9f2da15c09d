"""Configured figures in the profile table: what an operator knows of machines before anything was measured."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from cli.aws import Aws


def tell_figures(
    aws: Aws, region_pair: str, instance_types: Iterable[str], caps: Mapping[str, float], spawn_seconds: float
) -> None:
    """Configure the same figures for each type: `caps` has interRegionMBps and intraRegionMBps or less; T_v in seconds.

    What transfers have measured stays, and wins.
    """
    table = aws.resource("dynamodb").Table(f"{aws.deployment}-profiles")
    named = {"interRegion": "interRegionMBps", "intraRegion": "intraRegionMBps"}
    figures = {name: caps[cap] for name, cap in named.items() if cap in caps} | {"spawn": spawn_seconds}
    for instance_type in instance_types:
        table.update_item(
            Key={"subject": instance_type, "regionPair": region_pair},
            UpdateExpression="SET configured = :figures",
            ExpressionAttributeValues={":figures": {name: Decimal(str(value)) for name, value in figures.items()}},
        )
