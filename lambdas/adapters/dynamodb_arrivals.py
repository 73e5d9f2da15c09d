"""The table of arrivals: what waits for a window, which writes are known, and the window of each start."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from lambdas.adapters.codec import encode_item
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.ports import Clock
from lambdas.core.chunks.pace import Pace
from lambdas.core.errors import Throttled
from lambdas.core.intake.arrivals import Arrival, Window, shards

# Queues show an event again for 14 days at most, EventBridge for one.
KNOWN_SECONDS = 20 * 86_400
BATCH = 25
WORKERS = 4
_BACK_OFFS = [0.05 * 2**n for n in range(8)]
_WINDOWS = "windows"
# DynamoDB has the word for itself.
_OF_ONE, _NAMES = "#collection = :collection", {"#collection": "collection"}
_KEYS = ("collection", "item", "expiresAt")


class DynamoArrivals:
    """Arrivals over DynamoDB.

    The latest known write of a key is `{start}#known#{hash}`, `write`. One that waits is
    `{start}#waiting#{shard}`, `{hash}#{sequencer}`. Windows lie together, so that one query finds them.
    """

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def collect(self, start: str, arrival: Arrival, now: float) -> bool:
        """See Arrivals; both items or none, so that whoever is known waits, or has been taken."""
        known = {"collection": f"{start}#known#{arrival.hash}", "item": "write"}
        note = self._table.updating(
            known,
            "SET sequencer = :sequencer, expiresAt = :expires",
            "attribute_not_exists(sequencer) OR sequencer < :sequencer",
            sequencer=arrival.sequencer,
            expires=int(now + KNOWN_SECONDS),
        )
        return self._table.together(
            note, self._table.putting({**_waiting_key(start, arrival), **arrival.to_document()})
        )

    def waits(self, start: str, arrival: Arrival) -> bool:
        """See Arrivals."""
        return self._table.get(**_waiting_key(start, arrival)) is not None

    def waiting(self, start: str) -> Iterator[Arrival]:
        """See Arrivals."""
        for shard in shards():
            items = self._table.query(_OF_ONE, names=_NAMES, collection=_collection(start, shard))
            yield from (Arrival.from_document(_plain(item)) for item in items)

    def take(self, start: str, arrivals: Iterable[Arrival]) -> None:
        """See Arrivals."""
        pace = Pace(self._clock.monotonic())
        with ThreadPoolExecutor(WORKERS) as pool:
            keys = (_waiting_key(start, arrival) for arrival in arrivals)
            while wave := list(islice(keys, BATCH * WORKERS)):
                if pause := pace.pause(len(wave), self._clock.monotonic()):
                    self._clock.sleep(pause)
                for at_once in pool.map(self._delete, (wave[at : at + BATCH] for at in range(0, len(wave), BATCH))):
                    pace.taken() if at_once else pace.throttled()

    def window(self, start: str) -> Window | None:
        """See Arrivals."""
        item = self._table.get(collection=_WINDOWS, item=start)
        return Window.from_document(_plain(item)) if item else None

    def windows(self) -> list[Window]:
        """See Arrivals."""
        items = self._table.query(_OF_ONE, names=_NAMES, collection=_WINDOWS)
        return [Window.from_document(_plain(item)) for item in items]

    def write(self, window: Window) -> bool:
        """See Arrivals."""
        item = {"collection": _WINDOWS, "item": window.start, **window.to_document()}
        if window.version == 1:
            return self._table.put(item, "attribute_not_exists(#version)", {"#version": "version"})
        return self._table.put(item, "#version = :before", {"#version": "version"}, before=window.version - 1)

    def _delete(self, keys: Iterable[dict[str, str]]) -> bool:
        """Return whether the table took all at once."""
        rest: list[dict[str, Any]] = [{"DeleteRequest": {"Key": encode_item(key)}} for key in keys]
        for pause in (0.0, *_BACK_OFFS):
            if pause:
                self._clock.sleep(pause)
            rest = self._table.write_requests(rest)
            if not rest:
                return not pause
        raise Throttled(f"DynamoDB left {len(rest)} arrivals untaken after {len(_BACK_OFFS)} tries")


def _collection(start: str, shard: int) -> str:
    return f"{start}#waiting#{shard:x}"


def _waiting_key(start: str, arrival: Arrival) -> dict[str, str]:
    return {"collection": _collection(start, arrival.shard), "item": f"{arrival.hash}#{arrival.sequencer}"}


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in _KEYS}
