"""The port of archived objects that S3 restores."""

from typing import Literal, Protocol

from lambdas.core.restores.rounds import ArchivedObject

ArchivedState = Literal["archived", "restoring", "ready", "gone", "replaced"]


class Archive(Protocol):
    """Objects below a prefix of a bucket; raises Throttled for what may pass."""

    def look(self, one: ArchivedObject) -> ArchivedState:
        """How far an object is; `ready`: it can be read. Raises RestoreRefused."""

    def ask(self, one: ArchivedObject, storage_class: str, days: int) -> None:
        """Have S3 restore it for so many days, unless S3 does so already, or need not.

        Raises RestoreRefused, MissingPermission.
        """
