"""Records `transfer` and the locks on destination paths, in the transfers table."""

from dataclasses import asdict
from typing import Any

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.records import Status, TransferRecord
from lambdas.core.bandwidth import BandwidthLimit
from lambdas.core.ends.liveness import Ends
from lambdas.core.errors import WriteConflict
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.relay_watch import Watch
from lambdas.core.intake import destination_lock
from lambdas.core.intake.destination_lock import Busy, Holding, Way
from lambdas.core.record_format import FORMAT_VERSION, format_of
from lambdas.core.report.fleet_report import Spawned
from lambdas.core.spending.meter import BudgetDecision, Spent
from lambdas.core.transfer import AcceptedTransfer, ResolvedPaths, Same, TransferPlan

ACTIVE_INDEX = "active"
_RECORD = "transfer"
_LOCK_ATTEMPTS = 8
# Attributes that mean the same in every format, beside the transfer itself: what a teardown and its report go by.
_ANY_FORMAT = frozenset({"status", "fenced", "outcome", "stages", "active", "attempt", "teardown"})
# A transfer that failed before it had a plan has moved nothing: its corrected request may take the name again.
_FREE = (
    "attribute_not_exists(transferId) OR "
    "(#status = :failed AND attribute_not_exists(active) AND attribute_not_exists(#plan) AND #run = :first)"
)
_ENDED = "#run = :before AND #status IN (:succeeded, :skipped, :failed) AND attribute_not_exists(active)"
# By the execution and not the run: a name that became free again begins with run 1 again.
_OWN = "executionArn = :execution"


class DynamoTransferStore:
    """TransferStore over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def create(self, transfer: AcceptedTransfer) -> bool:
        """See TransferStore."""
        names = {"#status": "status", "#plan": "plan", "#run": "run"}
        if self._table.put(_new_item(transfer), _FREE, names, failed="FAILED", first=1):
            return True
        known = self._table.get(transferId=transfer.transfer_id, record=_RECORD)
        return bool(known and known["executionArn"] == transfer.execution_arn and known["status"] == "ACTIVE")

    def resume(self, transfer: AcceptedTransfer) -> bool:
        """See TransferStore."""
        known = self._table.get(**_key(transfer.transfer_id))
        if known is None:
            return False
        item = {**_new_item(transfer), "attempt": known["attempt"], "earlierEpochs": known["attempt"]}
        if unfulfilled := to_record(known).unfulfilled:
            item["earlier"] = unfulfilled.to_document()
        names = {"#status": "status", "#run": "run"}
        ended = {"succeeded": "SUCCEEDED", "skipped": "SUCCEEDED_WITH_SKIPS", "failed": "FAILED"}
        return self._table.put(item, _ENDED, names, before=transfer.run - 1, **ended)

    def get(self, transfer_id: str) -> TransferRecord | None:
        """See TransferStore."""
        item = self._table.get(transferId=transfer_id, record=_RECORD)
        return to_record(item) if item else None

    def active(self) -> list[TransferRecord]:
        """See TransferStore; each is read again, since the index is eventually consistent."""
        found = self._table.query("active = :yes", index=ACTIVE_INDEX, yes="yes")
        items = [self._table.get(transferId=item["transferId"], record=_RECORD) for item in found]
        return [to_record(item) for item in items if item and "active" in item]

    def note_port(self, transfer: AcceptedTransfer, port: int) -> bool:
        """See TransferStore."""
        return self._write(transfer, "SET receiverPort = :port", port=port)

    def note(self, transfer: AcceptedTransfer, **documents: dict[str, Any]) -> bool:
        """See TransferStore."""
        names = {f"#{name}": name for name in documents}
        expression = "SET " + ", ".join(f"#{name} = :{name}" for name in documents)
        return self._write(transfer, expression, None, names, **documents)

    def note_spent(self, transfer: AcceptedTransfer, spent: Spent) -> bool:
        """See TransferStore."""
        return self._write(
            transfer,
            "SET spent = :spent",
            "(attribute_not_exists(spent) OR spent.#at <= :at)",
            {"#at": "at"},
            spent=spent.to_document(),
            at=spent.at,
        )

    def note_ends(self, transfer: AcceptedTransfer, ends: Ends) -> bool:
        """See TransferStore."""
        return self._write(
            transfer,
            "SET #ends = :ends",
            "(attribute_not_exists(#ends) OR #ends.version = :before)",
            {"#ends": "ends"},
            ends=ends.to_document(),
            before=ends.version - 1,
        )

    def note_stage(self, transfer_id: str, stage: str, times: dict[str, float]) -> bool:
        """See TransferStore."""
        item = self._update(transfer_id, "SET stages.#stage = :times", names={"#stage": stage}, times=times)
        return bool(item) and "active" not in item

    def reopen(self, transfer_id: str) -> None:
        """See TransferStore."""
        self._update(transfer_id, "SET active = :yes", yes="yes")

    def next_attempt(self, transfer_id: str) -> int:
        """See TransferStore."""
        item = self._update(transfer_id, "ADD attempt :one", one=1)
        return int(item["attempt"]) if item else 1

    def finish(self, transfer: AcceptedTransfer, outcome: dict[str, Any]) -> bool:
        """See TransferStore."""
        return self._write(
            transfer,
            "SET #status = :done, outcome = :outcome",
            "#status = :active",
            {"#status": "status"},
            done="DONE",
            active="ACTIVE",
            outcome=outcome,
        )

    def fence(self, transfer: AcceptedTransfer) -> bool:
        """See TransferStore."""
        return self._write(transfer, "SET fenced = :yes", yes=True)

    def close(self, transfer: AcceptedTransfer, status: Status) -> bool:
        """See TransferStore."""
        return self._write(transfer, "SET #status = :status REMOVE active", names={"#status": "status"}, status=status)

    def _write(
        self,
        transfer: AcceptedTransfer,
        expression: str,
        condition: str | None = None,
        names: dict[str, str] | None = None,
        **values: object,
    ) -> bool:
        """False where the record is not of this transfer's execution, or `condition` does not hold."""
        both = f"{_OWN} AND {condition}" if condition else _OWN
        values = {**values, "execution": transfer.execution_arn}
        return self._table.update(_key(transfer.transfer_id), expression, both, names, **values) is not None

    def _update(self, transfer_id: str, expression: str, names: dict[str, str] | None = None, **values: object) -> Any:
        return self._table.update(_key(transfer_id), expression, "attribute_exists(transferId)", names, **values)


def _key(transfer_id: str) -> dict[str, str]:
    return {"transferId": transfer_id, "record": _RECORD}


def _new_item(transfer: AcceptedTransfer) -> dict[str, Any]:
    state = {"status": "ACTIVE", "active": "yes", "fenced": False, "attempt": 0, "stages": {}}
    return {**transfer.to_document(), "record": _RECORD, **state}


def to_record(item: dict[str, Any]) -> TransferRecord:
    """The record of a decoded item.

    Of another format only what a teardown needs is read: whose it is, and how far it has ended.
    """
    fields = {str(field.alias) for field in AcceptedTransfer.model_fields.values()}
    if format_of(item) != FORMAT_VERSION:
        item = {name: item[name] for name in (fields | _ANY_FORMAT) & item.keys()}
    return TransferRecord(
        transfer=AcceptedTransfer.from_document({name: item[name] for name in fields & item.keys()}),
        status=item["status"],
        fenced=item["fenced"],
        paths=ResolvedPaths.from_document(item["paths"]) if "paths" in item else None,
        estimate=Estimate.from_document(item["estimate"]) if "estimate" in item else None,
        plan=TransferPlan.from_document(item["plan"]) if "plan" in item else None,
        spawned=Spawned.from_document(item["spawned"]) if "spawned" in item else None,
        outcome=item.get("outcome"),
        stages=item.get("stages", {}),
        teardown=item.get("teardown"),
        spent=Spent.from_document(item["spent"]) if "spent" in item else None,
        budget=BudgetDecision.from_document(item["budget"]) if "budget" in item else None,
        watch=Watch.from_document(item.get("watch", {})),
        same=Same.from_document(item["same"]) if "same" in item else None,
        earlier=TransferPlan.from_document(item["earlier"]) if "earlier" in item else None,
        earlier_epochs=item.get("earlierEpochs", 0),
        closed="active" not in item,
        bandwidth=BandwidthLimit.from_document(item["bandwidth"]) if "bandwidth" in item else None,
        ends=Ends.from_document(item["ends"]) if "ends" in item else None,
    )


class DynamoPathLocks:
    """PathLocks over DynamoDB: one item per machine, changed under its version."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def acquire(self, instance_id: str, path: str, transfer_id: str, ways: tuple[Way, ...] = ()) -> Holding | Busy:
        """See PathLocks."""
        for _ in range(_LOCK_ATTEMPTS):
            version, held = self._read(instance_id)
            found = destination_lock.take(held, path, transfer_id, ways)
            if isinstance(found, Busy) or held.get(transfer_id) == found:
                return found
            if self._write(instance_id, version, {**held, transfer_id: found}):
                return found
        raise WriteConflict(f"the lock of {instance_id} changed {_LOCK_ATTEMPTS} times while it was taken")

    def release(self, instance_id: str, transfer_id: str) -> None:
        """See PathLocks."""
        for _ in range(_LOCK_ATTEMPTS):
            version, held = self._read(instance_id)
            rest = {other: holding for other, holding in held.items() if other != transfer_id}
            if rest == held or self._write(instance_id, version, rest):
                return
        raise WriteConflict(f"the lock of {instance_id} changed {_LOCK_ATTEMPTS} times while it was given back")

    def _read(self, instance_id: str) -> tuple[int, dict[str, Holding]]:
        item = self._table.get(transferId=f"lock#{instance_id}", record="paths") or {}
        held = {other: _holding(**holding) for other, holding in item.get("held", {}).items()}
        return item.get("version", 0), held

    def _write(self, instance_id: str, version: int, held: dict[str, Holding]) -> bool:
        key = {"transferId": f"lock#{instance_id}", "record": "paths"}
        item = {**key, "version": version + 1, "held": {other: asdict(holding) for other, holding in held.items()}}
        if version == 0:
            return self._table.put(item, "attribute_not_exists(transferId)")
        return self._table.put(item, "version = :version", version=version)


def _holding(path: str, port: int, ways: list[dict[str, list[str]]] | None = None) -> Holding:
    """As it lies in the table; before the survey there are no ways."""
    return Holding(path, port, tuple(Way.of(**way) for way in ways or []))
