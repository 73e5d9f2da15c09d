"""Spot prices of one region."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from lambdas.adapters.throttling import is_denied
from lambdas.core.tariff.prices import Price

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


class Ec2SpotMarket:
    """SpotMarket over EC2's spot price history."""

    def __init__(self, client: "EC2Client") -> None:
        self._client = client

    def latest(self, instance_types: Iterable[str], zone: str) -> dict[str, Price]:
        """See SpotMarket; where the account may not ask, nothing is known."""
        wanted = list(dict.fromkeys(instance_types))
        if not wanted:
            return {}
        # A history that starts now has one entry: the price in effect.
        pages = self._client.get_paginator("describe_spot_price_history").paginate(
            InstanceTypes=wanted,  # type: ignore[arg-type]
            ProductDescriptions=["Linux/UNIX"],
            AvailabilityZone=zone,
            StartTime=datetime.now(UTC),
        )
        latest: dict[str, Price] = {}
        try:
            for page in pages:
                for entry in page["SpotPriceHistory"]:
                    price = Price(float(entry["SpotPrice"]), "spot history", entry["Timestamp"].timestamp())
                    known = latest.get(entry["InstanceType"])
                    if known is None or known.as_of < price.as_of:
                        latest[entry["InstanceType"]] = price
        except ClientError as error:
            if is_denied(error):
                return {}
            raise
        return latest
