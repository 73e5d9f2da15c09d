"""The port of what transfers leave in a bucket."""

from typing import NamedTuple, Protocol


class LeftUpload(NamedTuple):
    """An upload that nobody has completed; the key is a whole one."""

    key: str
    upload_id: str


class Leftovers(Protocol):
    """What is left below a prefix; raises MissingPermission, and Throttled for what may pass."""

    def uploads(self, by: frozenset[str]) -> list[LeftUpload]:
        """Unfinished uploads that one of these has begun, by the ARNs of their sessions, and nobody else's."""

    def size(self, upload: LeftUpload) -> int:
        """Bytes of its parts; 0 of one that is gone."""

    def abort(self, upload: LeftUpload) -> None:
        """Forget it; one that is gone is fine."""

    def remove(self, below: str) -> int:
        """Remove all objects whose keys begin so below the prefix; how many."""
