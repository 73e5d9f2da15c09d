"""A list of keys: the objects of a bucket that a transfer moves, in place of all that lie below its prefix.

It is an object of the control bucket that is named by the digest of its bytes, so that whoever names the list names its
content. The lines are in the order of their keys.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from lambdas.core.documents import Count, Document

KEYS_PREFIX = "keys/"
# Only lists may be named: the rest of the control bucket is none of a request's business.
LIST_KEY = re.compile(r"keys/[0-9a-f]{64}\.ndjson")
MOST_OF_KEY_BYTES = 1_024
# A list is held in memory as a whole. One that a start collects has 100 000 keys, as a rule 25 MB.
MOST_LIST_BYTES = 128 << 20
PART_BYTES = 4 << 20


def _key(value: str) -> str:
    if len(value.encode(errors="surrogatepass")) > MOST_OF_KEY_BYTES:
        raise PydanticCustomError("key", "a key has {most} bytes of UTF-8 at most", {"most": MOST_OF_KEY_BYTES})
    return value


ObjectKey = Annotated[str, Field(min_length=1, max_length=MOST_OF_KEY_BYTES), AfterValidator(_key)]


def _list_key(value: str) -> str:
    if not LIST_KEY.fullmatch(value):
        raise PydanticCustomError("list_key", "name a list of the control bucket: keys/ and its SHA-256, then .ndjson")
    return value


ListKey = Annotated[str, AfterValidator(_list_key)]


class KeyEntry(Document):
    """Contract `key-entry`: a line of the list. What stands beside the key is what an event said of the object."""

    key: ObjectKey
    version_id: Annotated[str, Field(min_length=1, max_length=1_024)] | None = None
    size: Annotated[Count, Field(le=(1 << 53) - 1)] | None = None
    etag: Annotated[str, Field(pattern=r'^[^"]+$', max_length=1_024)] | None = None
    sequencer: Annotated[str, Field(pattern=r"^[0-9A-F]{1,64}$")] | None = None


def _order(key: str) -> bytes:
    return key.encode(errors="surrogatepass")


def written(entries: Iterable[KeyEntry]) -> bytes:
    """The list of these, each key once; the bytes are the same in whatever order they come."""
    ordered = sorted(entries, key=lambda entry: _order(entry.key))
    return b"".join(entry.to_json().encode() + b"\n" for entry in ordered)


def list_key(body: bytes) -> str:
    """Where a list of these bytes lies in the control bucket."""
    return f"{KEYS_PREFIX}{sha256(body).hexdigest()}.ndjson"


def read(lines: Iterable[bytes]) -> Iterator[KeyEntry]:
    """The entries of a list, one after the other; raises pydantic's ValidationError."""
    return (KeyEntry.model_validate_json(line, by_alias=True, by_name=False) for line in lines if line)


def problem(name: str, body: bytes, prefix: str) -> str | None:
    """Why the object of this name is no list of keys below the prefix, for people; None where it is one."""
    if list_key(body) != name:
        return f"its bytes have the SHA-256 {sha256(body).hexdigest()}; write the list under that name"
    before = ""
    for number, line in enumerate(body.splitlines(), 1):
        try:
            key = KeyEntry.model_validate_json(line, by_alias=True, by_name=False).key
        except ValidationError as error:
            return f"line {number}: {_words(error)}"
        if not key.startswith(prefix):
            return f"line {number}: '{key}' does not begin with the source's prefix '{prefix}'; leave it out"
        if number > 1 and _order(key) <= _order(before):
            return f"line {number}: '{key}' follows '{before}'; sort the keys by their bytes, each once"
        before = key
    return None if before else "it names no key"


def _words(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(['$', *map(str, one['loc'])])}: {one['msg']}" for one in found)


def parts(body: bytes, size: int = PART_BYTES) -> Iterator[bytes]:
    """The list in pieces of about `size` bytes that end where a line does."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start + size) + 1 or len(body)
        yield body[start:end]
        start = end
