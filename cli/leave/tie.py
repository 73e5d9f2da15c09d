"""One thing that stands between a deployment and an account without it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from botocore.exceptions import ClientError

# holds: destroy fails; left: destroy does not know of it; goes: destroy deletes data; stays: by choice, or not ours.
Status = Literal["holds", "left", "goes", "stays"]


@dataclass(frozen=True)
class Tie:
    """`about`: its name in AWS. `remedy`: what `undo` does, else what its owner has to do."""

    status: Status
    region: str
    about: str
    message: str
    remedy: str = ""
    undo: Callable[[], object] | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the tie as a line of `--json`."""
        return {
            "status": self.status,
            "region": self.region,
            "about": self.about,
            "message": self.message,
            **({"remedy": self.remedy, "byCpt": self.undo is not None} if self.remedy else {}),
        }


Ties = Iterator[Tie]
_GONE = ("NoSuch", "NotFound", "NonExistent")


def unless_gone(find: Callable[..., Ties], *arguments: Any) -> Ties:
    """Return what `find` finds; nothing where somebody has deleted the resource by hand."""
    try:
        yield from find(*arguments)
    except ClientError as error:
        if not any(word in str(error.response["Error"]["Code"]) for word in _GONE):
            raise
