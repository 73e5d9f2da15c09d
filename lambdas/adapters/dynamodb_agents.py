"""Membership, keys, progress, results and outcomes: the records that ends and control plane share."""

from collections.abc import Iterator
from typing import Any

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.records import ProbeResult
from lambdas.core.chunks.events import RelayLost, TransferDelivered, TransferFailed, outcome_of
from lambdas.core.chunks.progress import Progress
from lambdas.core.fleet.membership import Membership
from lambdas.core.seats.answers import Answer, record_name
from lambdas.core.seats.credentials import Issued, SealingKey
from lambdas.core.transfer.partition import Partition, transfer_id_of

_OF_SEATS = ("key#", "progress#", "outcome#", "sealing#", "credentials#")
_RECORDS = ("membership", "probe#", "lost#", "answer#", "fence", *_OF_SEATS)
# Ends may write an attribute `document`, and none of these names: what they follow is nothing that they may say.
_MEMBERSHIP = "membership"
_FENCED = "fenced"


class DynamoAgentRecords:
    """AgentRecords over DynamoDB; documents are kept as JSON text, as the daemon reads and writes them."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def membership(self, partition: Partition) -> Membership | None:
        """See AgentRecords."""
        item = self._table.get(transferId=partition, record="membership")
        return (
            Membership.model_validate_json(item[_MEMBERSHIP], by_alias=True) if item and _MEMBERSHIP in item else None
        )

    def write_membership(self, partition: Partition, membership: Membership) -> bool:
        """See AgentRecords."""
        first = membership.version == 1
        item = {
            "transferId": partition,
            "record": "membership",
            "version": membership.version,
            _MEMBERSHIP: membership.to_json(),
        }
        condition = "attribute_not_exists(version) OR version = :before" if first else "version = :before"
        return self._table.put(item, condition, before=1 if first else membership.version - 1)

    def progress(self, partition: Partition, seat_id: str) -> Progress | None:
        """See AgentRecords."""
        item = self._table.get(transferId=partition, record=f"progress#{seat_id}")
        return Progress.told(item.get("document")) if item else None

    def tell_progress(self, partition: Partition, seat_id: str, progress: Progress) -> None:
        """See AgentRecords."""
        document = progress.to_json()
        self._table.put({"transferId": partition, "record": f"progress#{seat_id}", "document": document})

    def route_key(self, partition: Partition, seat_id: str) -> str | None:
        """See AgentRecords."""
        item = self._table.get(transferId=partition, record=f"key#{seat_id}")
        key = item.get("routePublicKey") if item else None
        return key if isinstance(key, str) else None

    def outcome(self, partition: Partition, seat_id: str) -> TransferDelivered | TransferFailed | None:
        """See AgentRecords."""
        item = self._table.get(transferId=partition, record=f"outcome#{seat_id}")
        return outcome_of(item.get("document"), transfer_id_of(partition), seat_id) if item else None

    def answer(self, partition: Partition, answer_id: str) -> Answer | None:
        """See AgentRecords."""
        item = self._table.get(transferId=partition, record=record_name(answer_id))
        return Answer.told(item.get("document")) if item else None

    def sealing_key(self, partition: Partition, holder: str) -> SealingKey | None:
        """See AgentRecords."""
        return SealingKey.told(self._table.get(transferId=partition, record=f"sealing#{holder}"))

    def issued(self, partition: Partition, holder: str) -> Issued | None:
        """See AgentRecords."""
        return Issued.of_item(self._table.get(transferId=partition, record=f"credentials#{holder}"))

    def issue(self, partition: Partition, holder: str, issued: Issued) -> None:
        """See AgentRecords."""
        self._table.put({"transferId": partition, "record": f"credentials#{holder}", **issued.to_item()})

    def lost_relays(self, partition: Partition) -> list[RelayLost]:
        """See AgentRecords."""
        found = (
            RelayLost.told(item.get("document"), transfer_id_of(partition)) for item in self._of(partition, "lost#")
        )
        return [lost for lost in found if lost is not None]

    def fence(self, partition: Partition, *, fenced: bool) -> None:
        """See AgentRecords."""
        self._table.put({"transferId": partition, "record": "fence", _FENCED: fenced})

    def forget(self, partition: Partition) -> None:
        """See AgentRecords."""
        for item in list(self._table.query("transferId = :id", id=partition)):
            if item["record"].startswith(_RECORDS):
                self._table.delete(transferId=partition, record=item["record"])

    def probe_results(self, partition: Partition) -> list[ProbeResult]:
        """See AgentRecords."""
        prefix = "probe#"
        told = (ProbeResult.told(item["record"].removeprefix(prefix), item) for item in self._of(partition, prefix))
        return [result for result in told if result is not None]

    def _of(self, partition: Partition, prefix: str) -> Iterator[dict[str, Any]]:
        """The records of a transfer whose names begin with `prefix`."""
        condition = "transferId = :id AND begins_with(#record, :prefix)"
        return self._table.query(condition, names={"#record": "record"}, id=partition, prefix=prefix)
