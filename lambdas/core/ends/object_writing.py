"""How S3 keeps the objects that a transfer writes: class, tags and key; and which classes are archives."""

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

StorageClass = Literal[
    "STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"
]
STORAGE_CLASSES: tuple[StorageClass, ...] = get_args(StorageClass)
ARCHIVES: frozenset[str] = frozenset({"GLACIER", "DEEP_ARCHIVE"})
"""Classes whose objects cannot be read until they are restored."""
# What S3 takes for one object.
MOST_OBJECT_TAGS, MOST_OF_KEY, MOST_OF_VALUE = 10, 128, 256
_SIGNS = "_.:/=+-@"
_KEY_ARN = r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$"


def is_tag_text(value: str) -> bool:
    """Whether all services take it in a tag."""
    return all(map(is_tag_character, value))


def is_tag_character(one: str) -> bool:
    """Letters, digits, spaces and some signs."""
    return one.isalnum() or one == " " or one in _SIGNS


def _key(value: str) -> str:
    if value.lower().startswith("aws:"):
        raise PydanticCustomError("tag_key", "keys that begin with 'aws:' are Amazon's own; choose another")
    return tag_text(value)


def tag_text(value: str) -> str:
    """The value, where all services take it in a tag; raises PydanticCustomError."""
    if not is_tag_text(value):
        raise PydanticCustomError("tag", "write letters, digits, spaces and _ . : / = + - @ only")
    return value


_TagKey = Annotated[str, Field(min_length=1, max_length=MOST_OF_KEY), AfterValidator(_key)]
_TagValue = Annotated[str, Field(max_length=MOST_OF_VALUE), AfterValidator(tag_text)]
ObjectTags = Annotated[dict[_TagKey, _TagValue], Field(max_length=MOST_OBJECT_TAGS)]
KmsKeyArn = Annotated[str, Field(pattern=_KEY_ARN)]
KMS_KEY_PATTERN = _KEY_ARN


def region_of_key(arn: str) -> str:
    """The region of a key of KMS."""
    return arn.split(":")[3]


def written_as(storage_class: str | None, tags: dict[str, str], kms_key_id: str | None) -> dict[str, Any]:
    """What of these is asked for, by the names of commands; empty where nothing is."""
    asked = {"storageClass": storage_class, "tags": tags, "kmsKeyId": kms_key_id}
    return {name: value for name, value in asked.items() if value}
