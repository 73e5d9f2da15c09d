"""The profile table."""

from lambdas.adapters.dynamodb import Table
from lambdas.core.figures import SPAWN_SECONDS, Profile


class DynamoProfileStore:
    """ProfileStore over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, instance_type: str, region_pair: str) -> Profile | None:
        """See ProfileStore."""
        item = self._table.get(instanceType=instance_type, regionPair=region_pair)
        if item is None:
            return None
        return Profile(
            inter_region=float(item["interRegionMBps"]),
            intra_region=float(item["intraRegionMBps"]),
            spawn_seconds=float(item.get("spawnSeconds", SPAWN_SECONDS)),
            origin=item["origin"],
        )
