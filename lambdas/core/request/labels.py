"""What people call a transfer: its label, and tags that its relays carry for their bills and rules.

Source of the rules of tags: Amazon EC2 User Guide, "Tag your Amazon EC2 resources", restrictions.
"""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lambdas.core.ends.object_writing import is_tag_character, tag_text

MOST_OF_LABEL = 200
# A resource takes 50: five are ours, and the deployment's own come with the launch template.
MOST_TAGS = 20
MOST_OF_KEY = 128
MOST_OF_VALUE = 256
LABEL_TAG = "cpt:label"
_RESERVED = ("aws:", "cpt:")


def _label(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise PydanticCustomError("label", f"write 1 to {MOST_OF_LABEL} printable characters in one line")
    return value


def _key(value: str) -> str:
    if value.lower().startswith(_RESERVED):
        raise PydanticCustomError("tag_key", "keys that begin with 'aws:' or 'cpt:' are reserved; choose another")
    if value == "Name":
        raise PydanticCustomError("tag_key", "relays have names of their own; choose another key")
    return tag_text(value)


Label = Annotated[str, Field(min_length=1, max_length=MOST_OF_LABEL), AfterValidator(_label)]
TagKey = Annotated[str, Field(min_length=1, max_length=MOST_OF_KEY), AfterValidator(_key)]
TagValue = Annotated[str, Field(max_length=MOST_OF_VALUE), AfterValidator(tag_text)]
Tags = Annotated[dict[TagKey, TagValue], Field(max_length=MOST_TAGS)]


def relay_tags(label: str | None, tags: Mapping[str, str]) -> dict[str, str]:
    """Tags of relays and their disks: a character of the label that no tag may have becomes `_`."""
    if label is None:
        return dict(tags)
    told = re.sub(r".", lambda found: found[0] if is_tag_character(found[0]) else "_", label)
    return {**tags, LABEL_TAG: told}


def of_event(label: str | None, tags: Mapping[str, str]) -> dict[str, object]:
    """The keys of an event's detail; those that the request does not have are absent."""
    found: dict[str, object] = {} if label is None else {"label": label}
    return {**found, "tags": dict(tags)} if tags else found
