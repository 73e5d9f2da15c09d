"""What of the destination is replaced, and kept: which keys of a request cannot stand beside each other."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lambdas.core.documents import Count, Document

KEEP_NAME = r"^\.?[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$"

Overwrite = Literal["always", "if-newer", "never"]


def _ours(value: str) -> str:
    if value.startswith(".cpt-"):
        raise PydanticCustomError("keep_name", "names that begin with '.cpt-' are CPT's own; choose another")
    return value


KeepName = Annotated[str, Field(pattern=KEEP_NAME), AfterValidator(_ours)]


class Kept(Document):
    """Contract `report`, `kept`: what was replaced or removed; `where`: the directory on the destination's machine.

    `entries`: None where the transfer ended before they were counted.
    """

    entries: Count | None = None
    where: str


def where_kept(destination: str, name: str, transfer_id: str) -> str:
    """Return the directory in which a transfer keeps what it replaces or removes."""
    return f"{destination.rstrip('/')}/{name}/{transfer_id}"


def keep_problems(name: str | None, overwrite: Overwrite, landing: list[str], *, delete: bool) -> list[str]:
    """What is said of keeping, and does not go together; `landing`: where source paths land."""
    if name is None:
        return []
    found = []
    if overwrite == "never" and not delete:
        found.append(
            f"$.keepReplaced: {name!r}, and $.overwrite is 'never' and $.delete false: nothing is replaced or removed; "
            "leave keepReplaced out"
        )
    found += [
        f"$.keepReplaced: {name!r}: a source path lands as {other!r}, where what is replaced would be kept; "
        "choose another name"
        for other in landing
        # Some file systems take both for one name.
        if other.split("/")[0].casefold() == name.casefold()
    ]
    return found


def problems(overwrite: Overwrite, *, resend_all: bool, compare: str, resume: bool, hard_links: bool) -> list[str]:
    """What is said of it, and does not go together; one line each."""
    found = []
    if overwrite != "always" and hard_links:
        found.append(
            f"$.overwrite: {overwrite!r}, and $.preserve.hardLinks is true: further names of a file that is left alone "
            "would show another content than the source's; leave one of them out"
        )
    others: tuple[tuple[str, object, object, str], ...] = (
        ("overwrite", overwrite, "always", "all would be sent, and some of it not written"),
        ("compare", compare, "size-time", "all would be read, and none of it left out"),
        ("resume", resume, False, "a resumed transfer does not send again what has arrived"),
    )
    if resend_all:
        found += [
            f"$.resendAll: true, and $.{key} is {value!r}: {why}; leave one of them out"
            for key, value, usual, why in others
            if value != usual
        ]
    return found
