"""Which execution of a transfer a line of a log is about: two runs of one name have the same `transfer_id`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.transfer.accepted import AcceptedTransfer


def run_of(transfer: AcceptedTransfer) -> str:
    """Name of the execution; Step Functions gives it once, for 90 days."""
    return transfer.execution_arn.rsplit(":", 1)[-1]


@dataclass(frozen=True)
class ReadingStore:
    """A TransferStore that says which run of a transfer was read: events name the transfer alone."""

    store: Any
    on_read: Callable[[str, str], None]
    """Takes the transfer's id and the run."""

    def get(self, transfer_id: str) -> TransferRecord | None:
        """See TransferStore."""
        record: TransferRecord | None = self.store.get(transfer_id)
        if record is not None:
            self.on_read(transfer_id, run_of(record.transfer))
        return record

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)
