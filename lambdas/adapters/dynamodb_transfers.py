"""Records `transfer`, the locks on destination paths and what is known of mirrors, in the transfers table."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from lambdas.adapters.dynamodb import Table
from lambdas.core.errors import WriteConflict
from lambdas.core.intake import destination_lock
from lambdas.core.intake.destination_lock import Busy, Holding, Way
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_life import Beginning, Change, Comparison, Condition
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.survey.whereabouts import SourcePath
from lambdas.core.transfer.accepted import RECEIVER_PORTS, AcceptedTransfer
from lambdas.core.transfer.record_format import machines_of

# The second one is of the release before; it is read until the first one is built.
ACTIVE_INDEXES = ("running", "active")
_RECORD = {"record": "transfer"}
# Of two that write at once one is refused, and tries again: so many may take or give back one lock at one moment.
_LOCK_ATTEMPTS = 16
# No instance has such an id.
_SHARED = "shared directories"


class DynamoTransferStore:
    """TransferStore over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def create(self, transfer: AcceptedTransfer) -> bool:
        """See TransferStore."""
        if self._begin(transfer_life.create(transfer)):
            return True
        known = self.get(transfer.transfer_id)
        return known is not None and known.is_of(transfer) and known.status == "ACTIVE"

    def resume(self, transfer: AcceptedTransfer) -> bool:
        """See TransferStore."""
        known = self._item(transfer.transfer_id)
        return known is not None and self._begin(transfer_life.resume(transfer, known))

    def get(self, transfer_id: str) -> TransferRecord | None:
        """See TransferStore."""
        item = self._item(transfer_id)
        return TransferRecord.parse(item) if item else None

    def active_ids(self) -> list[str]:
        """See TransferStore."""
        return [item["transferId"] for item in self._active()]

    def ids_with_end(self, instance_id: str) -> list[str]:
        """See TransferStore."""
        found = ((item["transferId"], machines_of(item)) for item in self._active())
        return [transfer_id for transfer_id, machines in found if any(instance_id == one for _, one in machines)]

    def active(self) -> list[TransferRecord]:
        """See TransferStore; each is read again, since the index is eventually consistent."""
        items = [self._item(transfer_id) for transfer_id in self.active_ids()]
        return [TransferRecord.parse(item) for item in items if item and "active" in item]

    def change(self, transfer: AcceptedTransfer, change: Change) -> TransferRecord | None:
        """See TransferStore."""
        terms = Terms()
        expression, condition = terms.update(change), terms.condition(change.condition(transfer))
        key = {"transferId": transfer.transfer_id, **_RECORD}
        item = self._table.update(key, expression, condition, terms.names, **terms.values)
        return TransferRecord.parse(item) if item else None

    def _active(self) -> list[dict[str, Any]]:
        """Return what the index holds of each."""
        return self._table.query_first("active = :yes", ACTIVE_INDEXES, yes="yes")

    def _item(self, transfer_id: str) -> dict[str, Any] | None:
        return self._table.get(transferId=transfer_id, **_RECORD)

    def _begin(self, beginning: Beginning) -> bool:
        terms = Terms()
        condition = terms.condition(beginning.condition)
        return self._table.put({**beginning.item, **_RECORD}, condition, terms.names, **terms.values)


class Terms:
    """The expressions of one request; names and values are given beside them, since many names are reserved."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, object] = {}

    def condition(self, condition: Condition) -> str:
        """A condition of the table of `transfer_life` as DynamoDB judges it."""
        return " OR ".join(f"({' AND '.join(map(self._comparison, alternative))})" for alternative in condition)

    def update(self, change: Change) -> str:
        """Return what a change sets, removes and counts."""
        parts = {
            "SET": [f"{self._name(name)} = {self._value(value)}" for name, value in change.document.items()],
            "REMOVE": [self._name(name) for name in change.rule.removes],
            "ADD": [f"{self._name(name)} {self._value(1)}" for name in change.rule.counts],
        }
        return " ".join(f"{verb} {', '.join(found)}" for verb, found in parts.items() if found)

    def _comparison(self, one: Comparison) -> str:
        name = self._name(one.attribute)
        if one.relation == "absent":
            return f"attribute_not_exists({name})"
        if one.relation == "in":
            return f"{name} IN ({', '.join(map(self._value, one.value))})"
        if one.relation == "size":
            return f"size({name}) = {self._value(one.value)}"
        return f"{name} {one.relation} {self._value(one.value)}"

    def _name(self, attribute: str) -> str:
        found = {f"#{part.replace(' ', '_').replace('-', '_')}": part for part in attribute.split(".")}
        self.names |= found
        return ".".join(found)

    def _value(self, value: object) -> str:
        self.values[f"v{len(self.values)}"] = value
        return f":v{len(self.values) - 1}"


class DynamoPathLocks:
    """PathLocks over DynamoDB: one item per machine, and one for all directories that several machines see.

    Each is changed under its version.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def acquire(
        self,
        instance_id: str,
        path: str,
        transfer_id: str,
        ways: tuple[Way, ...] = (),
        ports: Sequence[int] = RECEIVER_PORTS,
    ) -> Holding | Busy:
        """See PathLocks."""
        return self._acquire(
            instance_id, transfer_id, lambda held: destination_lock.take(held, path, transfer_id, ways, ports)
        )

    def acquire_shared(self, transfer_id: str, ways: tuple[Way, ...]) -> Holding | Busy:
        """See PathLocks."""
        return self._acquire(_SHARED, transfer_id, lambda held: destination_lock.take_shared(held, transfer_id, ways))

    def release(self, instance_id: str, transfer_id: str) -> None:
        """See PathLocks."""
        for _ in range(_LOCK_ATTEMPTS):
            version, held = self._read(instance_id)
            rest = {other: holding for other, holding in held.items() if other != transfer_id}
            if rest == held or self._write(instance_id, version, rest):
                return
        raise WriteConflict(f"the lock of {instance_id} changed {_LOCK_ATTEMPTS} times while it was given back")

    def release_shared(self, transfer_id: str) -> None:
        """See PathLocks."""
        self.release(_SHARED, transfer_id)

    def _acquire(
        self, lock_id: str, transfer_id: str, take: Callable[[dict[str, Holding]], Holding | Busy]
    ) -> Holding | Busy:
        for _ in range(_LOCK_ATTEMPTS):
            version, held = self._read(lock_id)
            found = take(held)
            if isinstance(found, Busy) or held.get(transfer_id) == found:
                return found
            if self._write(lock_id, version, {**held, transfer_id: found}):
                return found
        raise WriteConflict(f"the lock of {lock_id} changed {_LOCK_ATTEMPTS} times while it was taken")

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


class DynamoMirrors:
    """Mirrors over DynamoDB: one item for each, which stays."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def source_paths(self, key: str) -> list[SourcePath]:
        """See Mirrors."""
        item = self._table.get(transferId=f"mirror#{key}", record="sources") or {}
        return [SourcePath.from_document(path) for path in item.get("sourcePaths", [])]

    def note(self, key: str, paths: Sequence[SourcePath]) -> None:
        """See Mirrors."""
        found = [path.to_document() for path in paths]
        self._table.put({"transferId": f"mirror#{key}", "record": "sources", "sourcePaths": found})


def _holding(path: str, port: int, ways: list[dict[str, list[str]]] | None = None) -> Holding:
    """Return a machine's holding as it lies in the table; before the survey it has no ways."""
    return Holding(path, port, tuple(Way.of(**way) for way in ways or []))
