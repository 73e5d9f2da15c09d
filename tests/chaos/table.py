"""The chunk table and the records of a transfer by hand, as the control plane reads and writes them."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

ENDINGS = ("Transfer Delivered", "Transfer Failed")


class Table:
    """A control directory, looked at from outside."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._open = {path.stem for path in (root / "chunks").iterdir()}
        self.chunks = len(self._open)

    def delivered(self) -> int:
        """Chunks that are DELIVERED; only those that were not yet are read again, since none goes back."""
        self._open = {name for name in self._open if self._item(name)["state"] != "DELIVERED"}
        return self.chunks - len(self._open)

    def failed(self) -> list[dict[str, Any]]:
        """Chunks that were given up."""
        items = [self._item(name) for name in sorted(self._open)]
        return [item for item in items if item["state"] == "FAILED"]

    def paths(self, item: dict[str, Any]) -> set[bytes]:
        """Entries that a chunk holds something of, as the destination will name them."""
        text = (self.root / item["manifestKey"]).read_bytes()[item["manifestStart"] : item["manifestEnd"]]
        return {unquote_to_bytes(json.loads(line)["path"]) for line in text.splitlines()}

    def skipped(self) -> list[dict[str, Any]]:
        """What the sender says that it left out."""
        parts = sorted(self.root.glob("digests/*/skipped/part-*.ndjson"))
        return [json.loads(line) for part in parts for line in part.read_text().splitlines()]

    def holders(self, path: bytes) -> list[dict[str, Any]]:
        """Chunks that hold something of a file."""
        items = [self._item(file.stem) for file in (self.root / "chunks").glob("*.json")]
        return [item for item in items if path in self.paths(item)]

    def decide_what_nobody_decided(self) -> None:
        """As the reconciler does: a failed attempt whose sender died before it said so is followed by the next."""
        with self._locked():
            for name in self._open:
                item = self._item(name)
                if item["state"] == "PENDING" and item.get("failedAttempt") == item["attempt"]:
                    self._write(f"chunks/{name}.json", {**item, "attempt": item["attempt"] + 1})

    def record(self, name: str) -> dict[str, Any]:
        """One record of the transfer; empty where there is none."""
        path = self.root / "records" / f"{name}.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def put_record(self, name: str, document: dict[str, Any]) -> None:
        """Write or replace a record."""
        self._write(f"records/{name}.json", document)

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """What was put on the bus of these kinds, in order."""
        path = self.root / "events.ndjson"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        return [event for event in events if event["type"] in kinds]

    def ending(self) -> dict[str, Any] | None:
        """The event that the transfer ended with."""
        return next(iter(self.events(*ENDINGS)), None)

    def _item(self, name: str) -> dict[str, Any]:
        return dict(json.loads((self.root / "chunks" / f"{name}.json").read_text()))

    def _write(self, key: str, document: dict[str, Any]) -> None:
        """Readers see the old file or the new one."""
        path = self.root / key
        new = path.with_suffix(".chaos")
        new.write_text(json.dumps(document))
        new.rename(path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The daemons' conditional writes wait."""
        with (self.root / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
