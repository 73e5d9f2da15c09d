"""EC2's instance types and where they are offered, of one region."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.adapters.throttling import is_denied
from lambdas.core.tariff.instance_types import NETWORK_WEIGHTING, TypeFacts

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


class Ec2InstanceTypes:
    """InstanceTypes over EC2."""

    def __init__(self, client: "EC2Client") -> None:
        self._client = client

    def facts(self, instance_types: Iterable[str]) -> dict[str, TypeFacts]:
        """See InstanceTypes; where the account may not ask, nothing is known."""
        wanted = list(dict.fromkeys(instance_types))
        if not wanted:
            return {}
        # By filter, since naming a type that the region does not have would fail the whole call.
        filters: list[Any] = [{"Name": "instance-type", "Values": wanted}]
        try:
            zones = self._zones(filters)
            pages = self._client.get_paginator("describe_instance_types").paginate(Filters=filters)
            found = [item for page in pages for item in page["InstanceTypes"]]
        except ClientError as error:
            if is_denied(error):
                return {}
            raise
        read = (_facts(item, zones.get(item["InstanceType"], frozenset())) for item in found)
        return {facts.instance_type: facts for facts in read if facts is not None}

    def _zones(self, filters: list[Any]) -> dict[str, frozenset[str]]:
        pages = self._client.get_paginator("describe_instance_type_offerings").paginate(
            LocationType="availability-zone", Filters=filters
        )
        zones: dict[str, frozenset[str]] = {}
        for page in pages:
            for offer in page["InstanceTypeOfferings"]:
                zones[offer["InstanceType"]] = zones.get(offer["InstanceType"], frozenset()) | {offer["Location"]}
        return zones


def _facts(item: Any, zones: frozenset[str]) -> TypeFacts | None:
    network = item["NetworkInfo"]
    default = network.get("DefaultNetworkCardIndex", 0)
    cards: list[Any] = network.get("NetworkCards", [])
    card: dict[str, Any] = next((card for card in cards if card["NetworkCardIndex"] == default), {})
    if "BaselineBandwidthInGbps" not in card:
        return None
    disk = item.get("EbsInfo", {}).get("EbsOptimizedInfo", {})
    baseline = card["BaselineBandwidthInGbps"]
    return TypeFacts(
        instance_type=item["InstanceType"],
        vcpus=item["VCpuInfo"]["DefaultVCpus"],
        architecture="arm64" if "arm64" in item["ProcessorInfo"]["SupportedArchitectures"] else "x86_64",
        baseline_gbps=baseline,
        peak_gbps=card.get("PeakBandwidthInGbps", baseline),
        disk=disk.get("BaselineThroughputInMBps", 0.0),
        peak_disk=disk.get("MaximumThroughputInMBps", 0.0),
        burstable_processor=item["BurstablePerformanceSupported"],
        zones=zones,
        takes_weighting=NETWORK_WEIGHTING in network.get("BandwidthWeightings", []),
    )
