"""What a transfer between buckets keeps in the control bucket, and what its successors read of it.

Below `copies/{both ends}/`: `last.json` names the newest run of all that lies there, `uploads/` has those that are not
completed, and `{plan}/` what a run keeps. Of a round there are its `position`, `units/` (what is to be copied), `kept/`
(what was there already), `done/` (results, a segment at a time) and their `sums/`; `left/` and `unselected/` name what
is not copied, and `keys/` has what alone is. `gone/` has keys that were to be restored first, and are not there now.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from heapq import merge
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.copies.listed import Noted, Task, order
from lambdas.core.copies.outcome import Result
from lambdas.core.copies.units import Position
from lambdas.core.documents import Document, PlanId
from lambdas.core.ends.key_list import read
from lambdas.core.transfer.accepted import AcceptedTransfer

PREFIX = "copies/"
# Runs before the newest one that may still say of some keys what was copied: each listed less than its successor.
_MOST_RUNS = 8


class Run(Document):
    """`last.json`: the newest run of these ends, and the one before it."""

    plan_id: PlanId
    previous: list[PlanId]


class Notebook:
    """The pages of one run."""

    def __init__(self, world: World, transfer: AcceptedTransfer, plan_id: str | None = None) -> None:
        self._world, self._transfer = world, transfer
        self._ends = _folder_of_ends(transfer)
        self._plan_id = plan_id or transfer.plan_id
        self.prefix = f"{self._ends}{self._plan_id}/"

    def begin(self) -> None:
        """Become the newest run, once."""
        known = self._newest()
        if known is not None and known.plan_id == self._plan_id:
            return
        previous = [known.plan_id, *known.previous][:_MOST_RUNS] if known else []
        newest = Run(plan_id=self._plan_id, previous=previous)
        self._world.objects.put(f"{self._ends}last.json", newest.to_json().encode())

    def _newest(self) -> Run | None:
        body = self._world.objects.read(f"{self._ends}last.json")
        return Run.from_document(json.loads(body)) if body else None

    def position(self, number: int) -> Position | None:
        """Where the listing of a round has ended."""
        body = self._world.objects.read(f"{self.prefix}position/{number:05d}.json")
        return Position.from_document(json.loads(body)) if body else None

    def put_position(self, position: Position) -> None:
        """Keep it."""
        self._world.objects.put(f"{self.prefix}position/{position.round.number:05d}.json", position.to_json().encode())

    def put_tasks(self, number: int, unit: int, tasks: Iterable[Task]) -> None:
        """Keep what a unit has to copy."""
        self._world.objects.put(f"{self._unit('units', number, unit)}.ndjson", b"".join(task.line() for task in tasks))

    def tasks(self, number: int, unit: int) -> list[Task]:
        """What it has to copy, in the order of keys."""
        lines = self._world.objects.lines(f"{self._unit('units', number, unit)}.ndjson")
        return [Task.parse(line) for line in lines if line]

    def put_kept(self, number: int, segment: int, kept: Iterable[Noted]) -> None:
        """Keep what was there already, so that the next run knows of it too."""
        key = f"{self.prefix}kept/{number:05d}-{segment:05d}.ndjson"
        self._world.objects.put(key, b"".join(one.line() for one in kept))

    def put_results(self, number: int, unit: int, segment: int, results: Iterable[Result]) -> None:
        """Keep what has become of some objects of a unit."""
        key = f"{self._unit('done', number, unit)}-{segment:05d}.ndjson"
        self._world.objects.put(key, b"".join(one.line() for one in results))

    def results(self, number: int, unit: int) -> list[Result]:
        """What has become of a unit's objects so far."""
        keys = self._world.objects.keys(f"{self._unit('done', number, unit)}-")
        return [Result.parse(line) for key in keys for line in self._world.objects.lines(key) if line]

    def segments(self, number: int, unit: int) -> int:
        """How many segments of results a unit has."""
        return len(self._world.objects.keys(f"{self._unit('done', number, unit)}-"))

    def put_left(self, name: str, lines: Iterable[bytes]) -> None:
        """Keep lines of contract `skipped-entry`."""
        self._world.objects.put(f"{self.prefix}left/{name}.ndjson", b"".join(lines))

    def put_unselected(self, number: int, segment: int, lines: Iterable[bytes]) -> None:
        """Keep lines of contract `unselected-entry`."""
        self._world.objects.put(f"{self.prefix}unselected/{number:05d}-{segment:05d}.ndjson", b"".join(lines))

    def left(self) -> Iterator[bytes]:
        """All of them."""
        for key in self._world.objects.keys(f"{self.prefix}left/"):
            yield from (line for line in self._world.objects.lines(key) if line)

    def gone(self) -> Iterator[str]:
        """Keys that were to be restored first, and are not there any more."""
        for part in self._world.objects.keys(f"{self.prefix}gone/"):
            yield from (json.loads(line) for line in self._world.objects.lines(part) if line)

    def put_sum(self, number: int, unit: int, counts: Mapping[str, int | float]) -> None:
        """Keep what a unit has counted so far, and when."""
        self._world.objects.put(f"{self._unit('sums', number, unit)}.json", json.dumps(dict(counts)).encode())

    def sum(self, number: int, unit: int) -> dict[str, Any]:
        """What a unit has counted so far."""
        body = self._world.objects.read(f"{self._unit('sums', number, unit)}.json")
        found: dict[str, Any] = json.loads(body) if body else {}
        return found

    @property
    def list_of_keys(self) -> str:
        """Where the list of keys is that alone are copied, in parts, where a request has one."""
        return folder_of_keys(self._transfer, self._plan_id)

    def keys_behind(self, after: str | None) -> Iterator[str]:
        """The keys of that list behind this one, without the prefix."""
        cut = len(self._transfer.copied_ends[0].prefix)
        for part in self._world.objects.keys(self.list_of_keys):
            keys = (entry.key[cut:] for entry in read(self._world.objects.lines(part)))
            yield from (key for key in keys if after is None or order(key) > order(after))

    @property
    def uploads(self) -> str:
        """Where uploads are noted that are not completed: any run between these ends goes on with them."""
        return f"{self._ends}uploads/"

    def upload_key(self, key: str) -> str:
        """Where an object's upload is noted."""
        return f"{self.uploads}{blake2b(order(key), digest_size=16).hexdigest()}.json"

    def _unit(self, kind: str, number: int, unit: int) -> str:
        return f"{self.prefix}{kind}/{number:05d}-{unit:04d}"

    def earlier(self, after: str | None) -> Iterator[Noted]:
        """What earlier runs have noted of keys behind this one, in their order.

        The run before this counts as far as it has listed; behind that, the one before it.
        """
        newest = self._newest()
        runs = [] if newest is None else [newest.plan_id, *newest.previous]
        for plan_id in runs:
            if plan_id == self._plan_id:
                continue
            page = Notebook(self._world, self._transfer, plan_id)
            yield from page._noted(after)
            reached = page._reached()
            if reached is None or reached.round.done:
                if reached is not None:
                    return
                continue
            if reached.after is not None and (after is None or order(reached.after) > order(after)):
                after = reached.after

    def _reached(self) -> Position | None:
        keys = self._world.objects.keys(f"{self.prefix}position/")
        return self.position(int(keys[-1].rpartition("/")[2].removesuffix(".json"))) if keys else None

    def _noted(self, after: str | None) -> Iterator[Noted]:
        """What this run has noted, round by round; of a round that ended before the key nothing is read."""
        number = 0
        while (position := self.position(number := number + 1)) is not None:
            if after is not None and position.after is not None and order(position.after) <= order(after):
                continue
            both = merge(self._kept(number), self._copied(position), key=lambda one: order(one.key))
            yield from (one for one in both if after is None or order(one.key) > order(after))

    def _kept(self, number: int) -> Iterator[Noted]:
        for key in self._world.objects.keys(f"{self.prefix}kept/{number:05d}-"):
            yield from (Noted.parse(line) for line in self._world.objects.lines(key) if line)

    def _copied(self, position: Position) -> Iterator[Noted]:
        """A unit after the other: each has the keys between those of its neighbours.

        What was to be copied and is not is noted as no copy of anything: what lies there instead is not the same,
        whatever its size and time say.
        """
        number = position.round.number
        listed = set(self._world.objects.keys(f"{self.prefix}units/{number:05d}-"))
        for unit in range(position.round.units):
            tasks = self.tasks(number, unit) if f"{self._unit('units', number, unit)}.ndjson" in listed else []
            found = {task.source.key: Noted(*task.source[:4], "") for task in tasks if task.there is not None}
            found |= {one.key: Noted(*one[:4], one.there or "") for one in self.results(number, unit)}
            yield from (found[key] for key in sorted(found, key=order))


def put_gone(world: World, transfer: AcceptedTransfer, name: str, keys: Iterable[str]) -> None:
    """Keep keys of archived objects that are gone since it was listed that they have to be restored."""
    lines = [json.dumps(key).encode() + b"\n" for key in keys]
    world.objects.put(f"{_folder_of_ends(transfer)}{transfer.plan_id}/gone/{name}.ndjson", b"".join(lines))


def folder_of_keys(transfer: AcceptedTransfer, plan_id: str | None = None) -> str:
    """Where a run's list of keys is; of this transfer's own run where no plan is named."""
    return f"{_folder_of_ends(transfer)}{plan_id or transfer.plan_id}/keys/"


def _folder_of_ends(transfer: AcceptedTransfer) -> str:
    source, destination = transfer.copied_ends
    return f"{PREFIX}{pair_of(source.where, destination.where)}/"


def pair_of(source: str, destination: str) -> str:
    """The name of two ends together."""
    return blake2b(f"{source} {destination}".encode(), digest_size=16).hexdigest()
