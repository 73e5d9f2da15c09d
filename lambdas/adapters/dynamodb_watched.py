"""Transfers as people watch them: few reads, whatever runs."""

from collections.abc import Iterable, Mapping
from typing import Any

from lambdas.adapters.codec import encode_item
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_transfers import ACTIVE_INDEXES
from lambdas.core.transfer.partition import partition_of
from lambdas.core.transfer.record_format import machines_of
from lambdas.core.watch.overview import Running
from lambdas.core.watch.transfer_state import TransferState, state_of

Item = Mapping[str, Any]
# DynamoDB answers at most so many keys in one BatchGetItem.
MOST_KEYS = 100
# Records that its ends write or read, of each transfer in the list.
TOLD = ("membership", "progress#s0")
MOST_RUNNING = MOST_KEYS // len(TOLD)


class DynamoWatchedTransfers:
    """WatchedTransfers over DynamoDB."""

    def __init__(self, transfers: Table, nodes: Table) -> None:
        self._transfers = transfers
        self._nodes = nodes

    def running(self, prefix: str = "") -> Running:
        """See WatchedTransfers."""
        indexed = self._transfers.query_first("active = :yes", ACTIVE_INDEXES, yes="yes")
        active = [item for item in indexed if str(item["transferId"]).startswith(prefix)]
        found = self._batch(item["transferId"] for item in active[:MOST_RUNNING])
        records = {str(item["transferId"]): item for item in found}
        shared = {name: _partition(item) for name, item in records.items()}
        told = self._of_partitions(shared.values())
        states = [
            state_of(name, {"transfer": item, **told.get(shared[name], {})}, []) for name, item in records.items()
        ]
        return Running(sorted(states, key=lambda state: state.transfer_id), len(active))

    def transfer(self, transfer_id: str) -> TransferState | None:
        """See WatchedTransfers."""
        records = self._records(transfer_id)
        if "transfer" not in records:
            return None
        records |= self._records(_partition(records["transfer"]))
        return state_of(transfer_id, records, list(self._nodes.query("transferId = :id", id=transfer_id)))

    def _records(self, partition: str) -> dict[str, Item]:
        return {str(item["record"]): item for item in self._transfers.query("transferId = :id", id=partition)}

    def _batch(self, transfer_ids: Iterable[str]) -> list[dict[str, Any]]:
        return self._get([{"transferId": one, "record": "transfer"} for one in transfer_ids])

    def _of_partitions(self, partitions: Iterable[str]) -> dict[str, dict[str, Item]]:
        keys = [{"transferId": one, "record": record} for one in partitions for record in TOLD]
        told: dict[str, dict[str, Item]] = {}
        for item in self._get(keys):
            told.setdefault(str(item["transferId"]), {})[str(item["record"])] = item
        return told

    def _get(self, keys: list[dict[str, str]]) -> list[dict[str, Any]]:
        """What is not answered at once is not asked for again: the page is drawn anew in seconds."""
        return self._transfers.get_batch([encode_item(key) for key in keys])[0] if keys else []


def _partition(transfer: Item) -> str:
    return partition_of(transfer["executionArn"], machines_of(transfer), transfer["transferId"])
