"""An end with machines of its own, on which its seats are, and its paths; whichever file system they read or write."""

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lambdas.core.documents import USER, Document, InstanceId, Integer, Region
from lambdas.core.ends.landing import leading
from lambdas.core.ends.paths import NamedPath, Path, SourcePath, landing_of, path_of, words
from lambdas.core.places.place import Place

User = Annotated[str, Field(pattern=USER)]
Weight = Annotated[Integer, Field(ge=1, le=10_000)]
MOST_AT_AN_END = 16
"""Machines; both ends together have fewer (`core.request.machine_rules`)."""


def _unique(ids: list[str]) -> list[str]:
    if twice := next((one for at, one in enumerate(ids) if one in ids[:at]), None):
        raise PydanticCustomError("named_twice", "'{id}' is named twice; name each machine once", {"id": twice})
    return ids


UniqueIds = Annotated[list[InstanceId], Field(max_length=MOST_AT_AN_END), AfterValidator(_unique)]


class SeatedEnd(Document):
    """What all such ends have; `run_as`: as which user of its machines a daemon runs.

    `cpu_weight` and `io_weight`: systemd's, of the daemon among the other units; without them 100, as any unit.
    """

    several_field: ClassVar[str]
    """The key, below the end's, that names several machines."""
    kind: str
    region: Region
    run_as: User | None = None
    cpu_weight: Weight | None = None
    io_weight: Weight | None = None

    @property
    @abstractmethod
    def machine_ids(self) -> tuple[str, ...]:
        """The instances that reach its data; the first looks where one does so for all."""

    @property
    def machine_words(self) -> str:
        """The instances, for people."""
        *some, last = self.machine_ids
        return f"{', '.join(some)} and {last}" if some else last

    @property
    def machines_field(self) -> str:
        """The key, below the end's, that names its machines."""
        return self.several_field

    def field_of(self, at: int) -> str:
        """The key, below the end's, that names one of its machines."""
        return f"{self.machines_field}[{at}]"

    @property
    def regions(self) -> tuple[str, ...]:
        """The region of its machines."""
        return (self.region,)

    @property
    def place(self) -> Place:
        """Where its machines are, as far as the request says it."""
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


class SourcePaths(SeatedEnd):
    """Such an end that has the data."""

    where_field: ClassVar[str] = "paths"
    paths: list[SourcePath] = Field(min_length=1, max_length=100)

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """As of any such end, with its paths."""
        return {**super().command(preserve), "paths": self.asked_paths}

    @property
    def asked_paths(self) -> list[str | dict[str, str]]:
        """The paths as the request has them."""
        return [path if isinstance(path, str) else path.to_document() for path in self.paths]

    @property
    def plain_paths(self) -> list[str]:
        """The paths, without where they arrive."""
        return [path_of(path) for path in self.paths]

    def in_words(self, path: str | NamedPath) -> str:
        """From where to where, for people."""
        return words(path)

    @property
    def where(self) -> str:
        """All of its paths, for people."""
        return ", ".join(map(self.in_words, self.paths))

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


class DestinationPath(SeatedEnd):
    """Such an end that gets the data."""

    where_field: ClassVar[str] = "path"
    stored_checksums: ClassVar[bool] = False
    path: Path

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """As of any such end, with its directory."""
        return {**super().command(preserve), "path": self.path}

    @property
    def where(self) -> str:
        """The directory, for people."""
        return self.path

    def told(self, instance_id: str) -> str:
        """The directory and the machine, for people."""
        return f"'{self.where}' on {instance_id}"

    @property
    def lock_ids(self) -> tuple[str, ...]:
        """Its paths can overlap with those of any transfer to one of the same instances."""
        return self.machine_ids

    @property
    def lock_path(self) -> str:
        """Where in them it writes."""
        return self.path
