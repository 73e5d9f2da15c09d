"""Spot prices of one region."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from lambdas.adapters.throttling import is_denied
from lambdas.core.tariff.prices import Price

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_iam import IAMClient

ROLE = "AWSServiceRoleForEC2Spot"


class Ec2SpotMarket:
    """SpotMarket over EC2's spot price history, and IAM, which has one endpoint for all regions."""

    def __init__(self, client: "EC2Client", iam: "IAMClient") -> None:
        self._client, self._iam = client, iam

    def has_role(self) -> bool:
        """See SpotMarket; without an answer the launch itself finds out."""
        try:
            self._iam.get_role(RoleName=ROLE)
        except ClientError as error:
            return error.response["Error"]["Code"] != "NoSuchEntity"
        except BotoCoreError:
            return True
        return True

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
