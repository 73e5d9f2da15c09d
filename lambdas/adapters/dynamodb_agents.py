"""Membership, keys, progress, results and outcomes: the records that ends and control plane share."""

from collections.abc import Iterator
from typing import Any

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.records import ProbeResult
from lambdas.core.chunks.events import RelayLost, TransferDelivered, TransferFailed, outcome_of
from lambdas.core.chunks.progress import Progress
from lambdas.core.fleet.membership import Membership
from lambdas.core.seats.answers import Answer, record_name

_RECORDS = ("membership", "key#", "progress#", "probe#", "outcome#", "lost#", "answer#", "fence")
# Ends may write an attribute `document`, and none of these names: what they follow is nothing that they may say.
_MEMBERSHIP = "membership"
_FENCED = "fenced"


class DynamoAgentRecords:
    """AgentRecords over DynamoDB; documents are kept as JSON text, as the daemon reads and writes them."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def membership(self, shared: str) -> Membership | None:
        """See AgentRecords."""
        item = self._table.get(transferId=shared, record="membership")
        return (
            Membership.model_validate_json(item[_MEMBERSHIP], by_alias=True) if item and _MEMBERSHIP in item else None
        )

    def write_membership(self, shared: str, membership: Membership) -> bool:
        """See AgentRecords."""
        first = membership.version == 1
        item = {
            "transferId": shared,
            "record": "membership",
            "version": membership.version,
            _MEMBERSHIP: membership.to_json(),
        }
        condition = "attribute_not_exists(version) OR version = :before" if first else "version = :before"
        return self._table.put(item, condition, before=1 if first else membership.version - 1)

    def progress(self, shared: str, seat_id: str) -> Progress | None:
        """See AgentRecords."""
        item = self._table.get(transferId=shared, record=f"progress#{seat_id}")
        return Progress.told(item.get("document")) if item else None

    def route_key(self, shared: str, seat_id: str) -> str | None:
        """See AgentRecords."""
        item = self._table.get(transferId=shared, record=f"key#{seat_id}")
        key = item.get("routePublicKey") if item else None
        return key if isinstance(key, str) else None

    def outcome(self, shared: str, seat_id: str) -> TransferDelivered | TransferFailed | None:
        """See AgentRecords."""
        item = self._table.get(transferId=shared, record=f"outcome#{seat_id}")
        return outcome_of(item.get("document"), _transfer_id(shared), seat_id) if item else None

    def answer(self, shared: str, answer_id: str) -> Answer | None:
        """See AgentRecords."""
        item = self._table.get(transferId=shared, record=record_name(answer_id))
        return Answer.told(item.get("document")) if item else None

    def lost_relays(self, shared: str) -> list[RelayLost]:
        """See AgentRecords."""
        found = (RelayLost.told(item.get("document"), _transfer_id(shared)) for item in self._of(shared, "lost#"))
        return [lost for lost in found if lost is not None]

    def fence(self, shared: str, *, fenced: bool) -> None:
        """See AgentRecords."""
        self._table.put({"transferId": shared, "record": "fence", _FENCED: fenced})

    def forget(self, shared: str) -> None:
        """See AgentRecords."""
        for item in list(self._table.query("transferId = :id", id=shared)):
            if item["record"].startswith(_RECORDS):
                self._table.delete(transferId=shared, record=item["record"])

    def probe_results(self, shared: str) -> list[ProbeResult]:
        """See AgentRecords."""
        prefix = "probe#"
        told = (ProbeResult.told(item["record"].removeprefix(prefix), item) for item in self._of(shared, prefix))
        return [result for result in told if result is not None]

    def _of(self, shared: str, prefix: str) -> Iterator[dict[str, Any]]:
        """The records of a transfer whose names begin with `prefix`."""
        condition = "transferId = :id AND begins_with(#record, :prefix)"
        return self._table.query(condition, names={"#record": "record"}, id=shared, prefix=prefix)


def _transfer_id(shared: str) -> str:
    return shared.rsplit("+", 1)[-1]
