"""How far units are, for people who watch: a record of each unit of a round, as daemons have one of each seat."""

from collections.abc import Mapping

from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress
from lambdas.core.transfer.accepted import AcceptedTransfer

TELL_SECONDS = 2.0


class UnitProgress:
    """The record of one unit; what earlier rounds' units of its number have copied counts on."""

    def __init__(self, world: World, transfer: AcceptedTransfer, unit: int) -> None:
        self._world, self._transfer, self._seat_id = world, transfer, f"s{unit}"
        self._before = world.agents.progress(transfer.partition, self._seat_id)
        self._told_at, self._told_bytes = world.clock.now(), 0
        self._sequence = self._before.sequence if self._before else 0
        self._first_byte_at = self._before.first_byte_at if self._before else None
        self.fenced = self._is_fenced()
        """The transfer is being torn down: nothing more is begun."""

    def tell(self, counts: Mapping[str, int], *, over: bool = False) -> None:
        """Write what has been copied, every two seconds, and at the end without a rate."""
        now = self._world.clock.now()
        if not over and now - self._told_at < TELL_SECONDS:
            return
        copied, size = counts.get("copied", 0), counts.get("copiedBytes", 0)
        before = self._before
        rate = (size - self._told_bytes) / 1e6 / (now - self._told_at) if not over and now > self._told_at else 0.0
        if self._first_byte_at is None and copied:
            self._first_byte_at = now
        self._sequence += 1
        self._world.agents.tell_progress(
            self._transfer.partition,
            self._seat_id,
            Progress(
                schema_version=1,
                epoch=1,
                sequence=self._sequence,
                bytes=(before.bytes if before else 0) + size,
                moved_bytes=(before.moved_bytes if before else 0) + size,
                chunks=0,
                files=(before.files if before else 0) + copied,
                failed_chunks=0,
                rate=max(rate, 0.0),
                at=now,
                first_byte_at=self._first_byte_at,
                lanes=[],
            ),
        )
        self._told_at, self._told_bytes = now, size
        self.fenced = self._is_fenced()

    def _is_fenced(self) -> bool:
        record = self._world.transfers.get(self._transfer.transfer_id)
        return record is None or not record.serves(self._transfer)
