"""Paths of an end, and where the source's arrive."""

from typing import Annotated

from pydantic import Discriminator, Field, Tag

from lambdas.core.documents import ABSOLUTE_PATH, Document
from lambdas.core.ends.landing import LandingPath

Path = Annotated[str, Field(pattern=ABSOLUTE_PATH, max_length=4096)]


def landing_name(path: str) -> str | None:
    """The name under which `path` lands, as the daemon does it ('/a//b/.' as 'b'); None where its contents do."""
    if path.endswith("/"):
        return None
    return next((part for part in reversed(path.split("/")) if part not in ("", ".")), None)


class NamedPath(Document):
    """A source path that arrives under another path than its own name; with a slash at its end, what it holds does."""

    path: Path
    lands_as: LandingPath = Field(alias="as")


def _is_named(value: object) -> str:
    return "NamedPath" if isinstance(value, dict | NamedPath) else "PlainPath"


SourcePath = Annotated[
    Annotated[Path, Tag("PlainPath")] | Annotated[NamedPath, Tag("NamedPath")], Discriminator(_is_named)
]


def path_of(path: str | NamedPath) -> str:
    """The path at the source."""
    return path if isinstance(path, str) else path.path


def landing_of(path: str | NamedPath) -> str | None:
    """Where it lands below the destination, or its contents do; None where these land in the destination itself."""
    return landing_name(path) if isinstance(path, str) else path.lands_as


def words(path: str | NamedPath) -> str:
    """From where to where, for people."""
    return path if isinstance(path, str) else f"{path.path} as {path.lands_as}"
