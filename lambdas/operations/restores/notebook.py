"""What the restoring of a transfer's archived objects keeps in the control bucket.

Below `restores/{plan}/`: `listing/` says where each round of the listing has ended, `segments/` has the objects that
are to be restored, by class, `progress.json` says how far they are, and `left/` names those that are left out.
"""

import json
from collections.abc import Iterable

from lambdas.adapters.world import World
from lambdas.core.restores.rounds import ArchivedObject, ArchivedPosition, RestoreProgress
from lambdas.core.transfer.accepted import AcceptedTransfer

PREFIX = "restores/"


class RestoreNotes:
    """The notes of one run."""

    def __init__(self, world: World, transfer: AcceptedTransfer) -> None:
        self._world = world
        self.prefix = f"{PREFIX}{transfer.plan_id}/"
        self.keys_folder = f"{self.prefix}keys/"
        self.left_folder = f"s3://{world.env.control_bucket}/{self.prefix}left/"

    def position(self, number: int) -> ArchivedPosition | None:
        """Where a round of the listing has ended."""
        body = self._world.objects.read(f"{self.prefix}listing/{number:05d}.json")
        return ArchivedPosition.from_document(json.loads(body)) if body else None

    def put_position(self, position: ArchivedPosition) -> None:
        """Keep it."""
        self._world.objects.put(f"{self.prefix}listing/{position.number:05d}.json", position.to_json().encode())

    def segment(self, name: str) -> list[ArchivedObject]:
        """The objects of a segment, in the order of their keys."""
        lines = self._world.objects.lines(f"{self.prefix}segments/{name}.ndjson")
        return [ArchivedObject(*json.loads(line)) for line in lines if line]

    def put_segment(self, name: str, objects: Iterable[ArchivedObject]) -> None:
        """Keep them."""
        lines = [json.dumps(list(one), separators=(",", ":")).encode() + b"\n" for one in objects]
        self._world.objects.put(f"{self.prefix}segments/{name}.ndjson", b"".join(lines))

    def progress(self) -> RestoreProgress | None:
        """How far all segments are; None before the first request."""
        body = self._world.objects.read(f"{self.prefix}progress.json")
        return RestoreProgress.from_document(json.loads(body)) if body else None

    def put_progress(self, progress: RestoreProgress) -> None:
        """Keep it."""
        self._world.objects.put(f"{self.prefix}progress.json", progress.to_json().encode())

    def put_left(self, name: str, lines: Iterable[bytes]) -> None:
        """Keep lines of contract `skipped-entry`; the same name is the same lines."""
        self._world.objects.put(f"{self.prefix}left/{name}.ndjson", b"".join(lines))
