"""A machine of the user as an end of a transfer, and what the control plane must know of any kind of end.

A kind of end is one module like this and one alternative in contract `transfer-request`. Each says its `kind`, its
`regions` (they must be enrolled), its `machines` (the instances that reach its data), and of a destination the
`lock_ids`, of which all transfers share one that could write to the same place, and the `lock_path` there.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from lambdas.core.documents import ABSOLUTE_PATH, USER, Document, InstanceId, Integer, Region
from lambdas.core.ends.landing import LandingPath, leading
from lambdas.core.places.place import Place

Path = Annotated[str, Field(pattern=ABSOLUTE_PATH, max_length=4096)]
User = Annotated[str, Field(pattern=USER)]
Weight = Annotated[Integer, Field(ge=1, le=10_000)]
MOST_AT_AN_END = 16
"""Machines; both ends together have fewer (`core.request.machine_rules`)."""


def _unique(ids: list[str]) -> list[str]:
    if twice := next((one for at, one in enumerate(ids) if one in ids[:at]), None):
        raise PydanticCustomError("named_twice", "'{id}' is named twice; name each machine once", {"id": twice})
    return ids


InstanceIds = Annotated[list[InstanceId], Field(min_length=2, max_length=MOST_AT_AN_END), AfterValidator(_unique)]


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

    `instance_ids`, where there are several of one region, all of which reach the same data.
    `cpu_weight` and `io_weight`: systemd's, of the daemon among the other units; without them 100, as any unit.
    """

    kind: Literal["machine"] = "machine"
    # In this order: what is said of the one knows of the several.
    instance_ids: InstanceIds | None = None
    instance_id: InstanceId | None = Field(default=None, validate_default=True)
    region: Region
    run_as: User | None = None
    cpu_weight: Weight | None = None
    io_weight: Weight | None = None

    @field_validator("instance_id")
    @classmethod
    def _is_the_only_one(cls, value: str | None, info: ValidationInfo) -> str | None:
        several = info.data.get("instance_ids")
        if value is None and several is None and "instance_ids" in info.data:
            raise PydanticCustomError("no_machine", "name a machine")
        if value is not None and several is not None:
            raise PydanticCustomError("one_and_several", "instanceIds names machines as well; leave one of them out")
        return value

    @property
    def machine_ids(self) -> tuple[str, ...]:
        """The instances that reach its data; the first looks where one does so for all."""
        return tuple(self.instance_ids or (() if self.instance_id is None else (self.instance_id,)))

    @property
    def machine_words(self) -> str:
        """The instances, for people."""
        *some, last = self.machine_ids
        return f"{', '.join(some)} and {last}" if some else last

    def field_of(self, at: int) -> str:
        """The key, below the end's, that names one of its machines."""
        return "instanceId" if self.instance_ids is None else f"instanceIds[{at}]"

    @property
    def regions(self) -> tuple[str, ...]:
        """The region of its machines."""
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
    def share(self) -> tuple[int | None, int | None]:
        """Of its machine's processor time and of its disk time, what daemons get there."""
        return (self.cpu_weight, self.io_weight)

    @property
    def machines(self) -> tuple[tuple[str, str], ...]:
        """Region and id of each instance that reaches its data."""
        return tuple((self.region, instance_id) for instance_id in self.machine_ids)


class SourceMachine(MachineEnd):
    """The machine that has the data."""

    where_field: ClassVar[str] = "paths"
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
    def where(self) -> str:
        """All of its paths, for people."""
        return ", ".join(map(words, self.paths))

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

    where_field: ClassVar[str] = "path"
    path: Path

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """As of any machine, with its directory."""
        return {**super().command(preserve), "path": self.path}

    @property
    def where(self) -> str:
        """The directory, for people."""
        return self.path

    def told(self, instance_id: str) -> str:
        """The directory and the machine, for people."""
        return f"'{self.path}' on {instance_id}"

    @property
    def lock_ids(self) -> tuple[str, ...]:
        """Its paths can overlap with those of any transfer to one of the same instances."""
        return self.machine_ids

    @property
    def lock_path(self) -> str:
        """Where in them it writes."""
        return self.path
