"""What is left in a bucket in memory: the uploads of MemoryBuckets, and notes."""

from collections.abc import Callable

from lambdas.adapters.leftover_ports import LeftUpload
from lambdas.core.seats.credentials import BucketPlace, SeatCredentials
from tests.lambdas.memory.buckets import MemoryBuckets


class MemoryLeftovers:
    """Uploads have keys below the prefix; `refusal`: what each look meets."""

    def __init__(self, buckets: MemoryBuckets) -> None:
        self._buckets = buckets
        self.notes: set[str] = set()
        self.places: list[BucketPlace] = []
        self.refusal: Exception | None = None

    def opened(self, place: BucketPlace, session: Callable[[], SeatCredentials]) -> "MemoryLeftovers":
        """With a session, as the real one."""
        session()
        self.places.append(place)
        return self

    def uploads(self, by: frozenset[str]) -> list[LeftUpload]:
        """See Leftovers."""
        if self.refusal is not None:
            raise self.refusal
        return [LeftUpload(one.key, id_) for id_, one in sorted(self._buckets.open.items()) if one.by in by]

    def size(self, upload: LeftUpload) -> int:
        """See Leftovers."""
        found = self._buckets.open.get(upload.upload_id)
        return sum(sent.size for sent, _ in found.parts.values()) if found else 0

    def abort(self, upload: LeftUpload) -> None:
        """See Leftovers."""
        self._buckets.open.pop(upload.upload_id, None)

    def remove(self, below: str) -> int:
        """See Leftovers."""
        doomed = {key for key in self.notes if key.startswith(below)}
        self.notes -= doomed
        return len(doomed)
