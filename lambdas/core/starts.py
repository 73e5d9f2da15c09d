"""Starts without a person: what an execution is called, and what is answered beside a request document."""

import json
import re
from hashlib import sha256
from typing import Any, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document, Handover
from lambdas.core.errors import InvalidRequest

REQUESTS_PREFIX = "requests/"
# Step Functions takes no larger input.
MAX_REQUEST_BYTES = 262_144
_SUFFIX = ".json"
_STARTED, _ERROR = ".started.json", ".error.json"
# An execution's name has 80 characters; a transfer's id begins with a letter or digit.
_LABEL_LENGTH = 60
_DIGEST_LENGTH = 16


class StoredObject(Handover):
    """The object in S3's event; `sequencer` grows with each write of a key."""

    key: str
    size: Count = 0
    sequencer: str
    version_id: str | None = Field(default=None, alias="version-id")


class ObjectCreated(Handover):
    """Detail of S3's event `Object Created`."""

    stored: StoredObject = Field(alias="object")

    @property
    def execution_name(self) -> str:
        """The same for each copy of one event, another one for each write of the key."""
        stored = self.stored
        stem = stored.key.removeprefix(REQUESTS_PREFIX).removesuffix(_SUFFIX)
        return execution_name(stem, stored.key, stored.version_id or stored.sequencer)


class RequestStarted(Document):
    """Contract `request-answer`: an execution was started."""

    schema_version: Literal[1] = 1
    key: str
    transfer_id: str
    execution_arn: str


class RequestRefused(Document):
    """Contract `request-answer`: nothing was started; `problems` as the execution's cause would have them."""

    schema_version: Literal[1] = 1
    key: str
    error: str
    problems: list[str] = Field(min_length=1)


def execution_name(label: str, *identity: str) -> str:
    """A name that people recognise, and that says by its end which `identity` it is for."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", label).strip("-")[:_LABEL_LENGTH].strip("-") or "request"
    digest = sha256(json.dumps(identity).encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{readable}-{digest}"


def is_request(key: str) -> bool:
    """Whether the object is for us to read; our own answers lie beside it."""
    return key.startswith(REQUESTS_PREFIX) and key.endswith(_SUFFIX) and not key.endswith((_STARTED, _ERROR))


def started_key(key: str) -> str:
    """`requests/a.json` → `requests/a.started.json`."""
    return key.removesuffix(_SUFFIX) + _STARTED


def error_key(key: str) -> str:
    """`requests/a.json` → `requests/a.error.json`."""
    return key.removesuffix(_SUFFIX) + _ERROR


def read_document(body: bytes) -> Any:
    """The JSON value in an object; raises InvalidRequest."""
    try:
        return json.loads(body)
    except ValueError as error:
        raise InvalidRequest(f"$: the object is not JSON in UTF-8 ({error}); write a transfer request") from None


def refuse_size(size: int) -> None:
    """Raises InvalidRequest for an object that no execution can take; `size` in bytes."""
    if size > MAX_REQUEST_BYTES:
        raise InvalidRequest(f"$: the object has {size} bytes; a request has {MAX_REQUEST_BYTES} at most")
