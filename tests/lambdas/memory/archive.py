"""Archived objects of the buckets in memory; S3 restores them in as long as a test says, by the test's clock."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lambdas.adapters.archive_ports import ArchivedState
from lambdas.core.ends.object_writing import ARCHIVES
from lambdas.core.ends.retrieval import Tier
from lambdas.core.restores.rounds import ArchivedObject
from lambdas.core.seats.credentials import BucketPlace, SeatCredentials
from tests.lambdas.memory.buckets import MemoryBuckets


@dataclass
class MemoryArchive:
    """`takes`: seconds until an object is ready, by its key; `asked`: each request, with tier and days."""

    buckets: MemoryBuckets
    takes: Callable[[str], float] = lambda _key: 0.0
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    looks: int = 0
    before: dict[int, Callable[[], object]] = field(default_factory=dict)
    """What happens before the n-th request to restore, counted from 1."""
    tier: Tier = "Standard"
    uses: str = ""

    def opened(self, _place: BucketPlace, tier: Tier, session: Callable[[], SeatCredentials]) -> "MemoryArchive":
        session()
        self.tier = tier
        return self

    def look(self, one: ArchivedObject) -> ArchivedState:
        self.looks += 1
        found = self.buckets.here.get(one.key)
        if found is None:
            return "gone"
        if found.etag != one.etag:
            return "replaced"
        if found.storage_class not in ARCHIVES:
            return "ready"
        if found.restored_at is None:
            return "archived"
        return "ready" if self.buckets.now() >= found.restored_at else "restoring"

    def ask(self, one: ArchivedObject, storage_class: str, days: int) -> None:
        self.before.get(len(self.asked) + 1, lambda: None)()
        self.asked.append((one.key, self.tier, days))
        found = self.buckets.here[one.key]
        assert found.storage_class == storage_class
        found.restored_at = self.buckets.now() + self.takes(one.key)
