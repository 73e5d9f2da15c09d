"""A machine of the user as an end of a transfer, and what the control plane must know of any kind of end.

A kind of end is one module like this and one alternative in contract `transfer-request`. Each says its `kind`, its
`regions` (they must be enrolled), its `machines` (the instances that reach its data), and of a destination the
`lock_ids`, of which all transfers share one that could write to the same place, and the `lock_path` there.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from lambdas.core.documents import InstanceId
from lambdas.core.ends.seated import DestinationPath, SeatedEnd, SourcePaths, UniqueIds

InstanceIds = Annotated[UniqueIds, Field(min_length=2)]


class MachineEnd(SeatedEnd):
    """An instance with a file system that it reads or writes.

    `instance_ids`, where there are several of one region, all of which reach the same data.
    """

    several_field: ClassVar[str] = "instanceIds"
    kind: Literal["machine"] = "machine"
    # In this order: what is said of the one knows of the several.
    instance_ids: InstanceIds | None = None
    instance_id: InstanceId | None = Field(default=None, validate_default=True)

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
    def machines_field(self) -> str:
        """The key, below the end's, that names its machines."""
        return "instanceId" if self.instance_ids is None else self.several_field

    def field_of(self, at: int) -> str:
        """The key, below the end's, that names one of its machines."""
        return "instanceId" if self.instance_ids is None else super().field_of(at)


class SourceMachine(MachineEnd, SourcePaths):
    """The machine that has the data."""


class DestinationMachine(MachineEnd, DestinationPath):
    """The machine that gets the data."""
