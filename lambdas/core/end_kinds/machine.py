"""A machine of the user as an end of a transfer, and what the control plane must know of any kind of end.

A kind of end is one module like this and one alternative in contract `transfer-request`. Each says its `kind`, its
`regions` (they must be enrolled), its `machines` (the instances that reach its data), and of a destination the
`lock_id`, which all transfers share that could write to the same place.
"""

from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import ABSOLUTE_PATH, USER, Document, InstanceId, Integer, Region

Path = Annotated[str, Field(pattern=ABSOLUTE_PATH, max_length=4096)]
User = Annotated[str, Field(pattern=USER)]
Weight = Annotated[Integer, Field(ge=1, le=10_000)]


def landing_name(path: str) -> str | None:
    """The name under which `path` lands, as the daemon does it ('/a//b/.' as 'b'); None where its contents do."""
    if path.endswith("/"):
        return None
    return next((part for part in reversed(path.split("/")) if part not in ("", ".")), None)


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
    def machines(self) -> tuple[tuple[str, str], ...]:
        """Region and id of each instance that reaches its data."""
        return ((self.region, self.instance_id),)


class SourceMachine(MachineEnd):
    """The machine that has the data."""

    paths: list[Path] = Field(min_length=1, max_length=100)

    @property
    def tops(self) -> list[str] | None:
        """The names that the paths bring to the top of the destination; None where the contents of one arrive there."""
        return None if any(landing_name(path) is None for path in self.paths) else self.apart

    @property
    def apart(self) -> list[str]:
        """The names that one path each brings there."""
        return [name for path in self.paths if (name := landing_name(path)) is not None]


class DestinationMachine(MachineEnd):
    """The machine that gets the data."""

    path: Path

    @property
    def lock_id(self) -> str:
        """Its paths can overlap with those of any transfer to the same instance."""
        return self.instance_id
