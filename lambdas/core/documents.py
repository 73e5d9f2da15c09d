"""Base of all documents that cross a border: camelCase in JSON, strict types, no unknown keys."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

SCHEMA_VERSION: Literal[1] = 1

TRANSFER_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$"
INSTANCE_ID = r"^i-[0-9a-f]{8,17}$"
REGION = r"^[a-z]{2,4}(-[a-z]+)+-[0-9]$"
INSTANCE_TYPE = r"^[a-z0-9-]+\.[a-z0-9-]+$"
ABSOLUTE_PATH = r"^/[^\x00]*$"
# Opaque: whoever made it knows what it means. Safe in keys, names of files and tags.
NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
# Executions of a tenant are named TENANT-…, and rights are granted by that prefix: with a hyphen in it `ab` could read
# what is of `ab-c`. A letter is in front, as an alias of a state machine or a function may not be a number.
TENANT = r"^[a-z][a-z0-9]{0,19}$"
# Of a gitignore, as a file would have it on one line.
RULE = r"^[^\x00\r\n]*$"
# Its name, or its number.
USER = r"^([A-Za-z_][A-Za-z0-9_.-]{0,31}|0|[1-9][0-9]{0,9})$"


def whole(value: object) -> object:
    """JSON Schema counts 4.0 as an integer and true as none; Python has it the other way round."""
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "Input should be a whole number")
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(whole)]
Count = Annotated[int, BeforeValidator(whole), Field(ge=0)]
TransferId = Annotated[str, Field(pattern=TRANSFER_ID)]
PlanId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
TenantName = Annotated[str, Field(pattern=TENANT)]
Name = Annotated[str, Field(pattern=NAME, max_length=64)]
# A route has four stages at most, and so many relays lie on a path.
MAX_STAGES = 4
# A transfer has 435 at most: two of its pairs, those of all routes through one or two of 8 third regions, 250 together,
# and the 185 of the same routes without their last stage.
MAX_TRANSIT_REGIONS = 8
MAX_STAGES_IN_ALL = 512
StageIndex = Annotated[Count, Field(lt=MAX_STAGES_IN_ALL)]
InstanceId = Annotated[str, Field(pattern=INSTANCE_ID)]
Region = Annotated[str, Field(pattern=REGION)]
InstanceType = Annotated[str, Field(pattern=INSTANCE_TYPE)]
SocketAddress = Annotated[str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}:[0-9]{1,5}$")]


class Document(BaseModel):
    """Strict, immutable, camelCase outside."""

    # A function reads a few of the documents that it imports: what validates one is made when it is first used.
    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        defer_build=True,
    )

    def to_document(self) -> dict[str, Any]:
        """The JSON value, without absent optional fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_json(self) -> str:
        """Compact JSON text."""
        return json.dumps(self.to_document(), separators=(",", ":"))

    @classmethod
    def from_document(cls, value: object) -> Self:
        """Validate a JSON value; raises pydantic's ValidationError."""
        return cls.model_validate(value, by_alias=True, by_name=False)


class Handover(Document):
    """Input of a handler: keys that later versions add are ignored."""

    model_config = ConfigDict(extra="ignore")
