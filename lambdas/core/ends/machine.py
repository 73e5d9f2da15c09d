"""A machine of the user as an end of a transfer, and what the control plane must know of any kind of end.

A kind of end is one module like this and one alternative in contract `transfer-request`. Each says its `kind`, its
`regions` (they must be enrolled), its `machines` (the instances that reach its data), and of a destination the
`lock_id`, which all transfers share that could write to the same place.
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from lambdas.core.documents import ABSOLUTE_PATH, USER, Document, InstanceId, Integer, Region
from lambdas.core.ends.landing import LandingPath, leading
from lambdas.core.places.place import Place

Path = Annotated[str, Field(pattern=ABSOLUTE_PATH, max_length=4096)]
User = Annotated[str, Field(pattern=USER)]
Weight = Annotated[Integer, Field(ge=1, le=10_000)]


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


class MachineEnd(Document):
    """An instance with a file system that it reads or writes; `run_as`: as which of its users.

    `cpu_weight` and `io_weight`: systemd's, of the daemon among the other units; without them 100, as any unit.
    """

    kind: Literal["machine"] = "machine"
    instance_id: InstanceId
    region: Region
    run_as: User | None = None
    cpu_weight: Weight | None = None
    io_weight: Weight | None = None

    @property
    def regions(self) -> tuple[str, ...]:
        """The region of the machine."""
        return (self.region,)

    @property
    def place(self) -> Place:
        """Where the machine is, as far as the request says it."""
        return Place(self.region)

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """The end as commands to its daemon name it; `preserve`: what is kept of each entry, or nothing."""
        run_as = {} if self.run_as is None else {"runAs": self.run_as}
        return {"kind": self.kind, **run_as, **preserve}

    @property
    def machines(self) -> tuple[tuple[str, str], ...]:
        """Region and id of each instance that reaches its data."""
        return ((self.region, self.instance_id),)


class SourceMachine(MachineEnd):
    """The machine that has the data."""

    paths: list[SourcePath] = Field(min_length=1, max_length=100)

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """As of any machine, with its paths."""
        return {**super().command(preserve), "paths": self.asked_paths}

    @property
    def asked_paths(self) -> list[str | dict[str, str]]:
        """The paths as the request has them."""
        return [path if isinstance(path, str) else path.to_document() for path in self.paths]

    @property
    def plain_paths(self) -> list[str]:
        """The paths, without where they arrive."""
        return [path_of(path) for path in self.paths]

    @property
    def tops(self) -> list[str] | None:
        """Where the paths land below the destination; None where the contents of one land in the destination itself."""
        return None if any(landing_of(path) is None for path in self.paths) else self.apart

    @property
    def apart(self) -> list[str]:
        """Where single paths land there; contents of several that land in one directory are told together."""
        return list(dict.fromkeys(name for path in self.paths if (name := landing_of(path)) is not None))

    @property
    def above(self) -> list[str]:
        """Directories that lead to what arrives and that no source has, without those above them."""
        named = [path for path in self.paths if isinstance(path, NamedPath)]
        return leading((path.lands_as, path.path.endswith("/")) for path in named)


class DestinationMachine(MachineEnd):
    """The machine that gets the data."""

    path: Path

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """As of any machine, with its directory."""
        return {**super().command(preserve), "path": self.path}

    @property
    def lock_id(self) -> str:
        """Its paths can overlap with those of any transfer to the same instance."""
        return self.instance_id
