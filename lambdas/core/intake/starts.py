"""Starts without a person: what an execution is called, what its request is, and what is answered."""

import json
import re
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document, Handover
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.arrivals import Arrival, order_of
from lambdas.core.request.tenancy import prefix_of

REQUESTS_PREFIX = "requests/"
# No plain folder: what a tenant writes who is no longer configured must not pass for the operator's.
_OF_TENANT = re.compile(r"requests/tenant=([^/]*)/")
KEY_PLACEHOLDER = "{key}"
# Step Functions takes no larger input.
MAX_REQUEST_BYTES = 262_144
# Step Functions takes 80 characters as an execution's name; `-attempt390` needs 11.
MOST_OF_NAME = 69
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
    etag: str | None = None


class Bucket(Handover):
    """The bucket of an object."""

    name: str


class ObjectCreated(Handover):
    """Detail of S3's event `Object Created`; a rule for a bucket of data adds the template of a `request`."""

    bucket: Bucket
    stored: StoredObject = Field(alias="object")
    request: Any = None

    @property
    def is_folder(self) -> bool:
        """Whether it is what "Create folder" of S3's console makes: nothing, whose key stands for all keys below it."""
        return self.stored.key.endswith("/") and self.stored.size == 0

    @property
    def arrival(self) -> Arrival:
        """The write, as it is collected."""
        stored = self.stored
        return Arrival(
            key=stored.key,
            sequencer=order_of(stored.sequencer),
            version_id=stored.version_id,
            size=stored.size,
            etag=stored.etag,
        )

    @property
    def origin(self) -> str:
        """For people and programs that look for where a request came from."""
        return f"s3://{self.bucket.name}/{self.stored.key}"

    @property
    def execution_name(self) -> str:
        """The same for each copy of one event, another one for each write of the key."""
        stored = self.stored
        stem = _OF_TENANT.sub("", stored.key).removeprefix(REQUESTS_PREFIX).removesuffix(_SUFFIX)
        return execution_name(stem, self.origin, stored.version_id or stored.sequencer, tenant=self.tenant)

    @property
    def tenant(self) -> str | None:
        """Whose request document it is, by the prefix under which IAM lets him alone write; None: the operator's."""
        found = _OF_TENANT.match(self.stored.key)
        return found[1] if found else None


class ScheduledStart(Handover):
    """The input from a schedule; `scheduled_time` as EventBridge Scheduler writes it, e.g. 2026-11-21T02:00:00Z."""

    schedule: str
    group: str | None = None
    """Of a schedule that people have added; None of one that was deployed. Both may have one name."""
    scheduled_time: str
    request: Any

    @property
    def origin(self) -> str:
        """For people and programs that look for where a request came from."""
        return "/".join(["schedule", *([self.group] if self.group else []), self.schedule])

    def execution_name(self, tenant: str | None = None) -> str:
        """The same for each copy of one run."""
        told = f"{self.schedule}-{self.scheduled_time}"
        return execution_name(told, self.origin, self.scheduled_time, tenant=tenant)


class PageStart(Document):
    """Contract `page-start`: a click on Start. `token` is the page's own, `request` the text of its form."""

    token: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    request: str | None = None

    def read(self) -> Any:
        """What the text says; raises InvalidRequest."""
        if self.request is None:
            raise InvalidRequest("$: the text is empty; paste a transfer request, e.g. what cpt request prints")
        text = self.request.encode(errors="surrogatepass")
        refuse_size(len(text), "text")
        return read_document(text, "text")

    def execution_name(self, name: str | None) -> str:
        """The same for each click on one page with one text; `name`: the request's."""
        return execution_name(name or "from-the-page", self.token, self.request or "")


class RequestStarted(Document):
    """Contract `request-answer`: an execution was started."""

    schema_version: Literal[1] = 1
    origin: str
    transfer_id: str
    execution_arn: str


class RequestRefused(Document):
    """Contract `request-answer`: nothing was started; `problems` as the execution's cause would have them."""

    schema_version: Literal[1] = 1
    origin: str
    error: str
    problems: list[str] = Field(min_length=1)


def execution_name(label: str, *identity: str, tenant: str | None = None) -> str:
    """A name that people recognise, and that says by its end which `identity` it is for; a tenant's begins with his."""
    label = label if tenant is None else f"{prefix_of(tenant)}{label}"
    readable = re.sub(r"[^A-Za-z0-9]+", "-", label).strip("-")[:_LABEL_LENGTH].strip("-") or "request"
    digest = sha256(json.dumps(identity).encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{readable}-{digest}"


def is_request(key: str) -> bool:
    """Return whether the object is for us to read; our own answers lie beside it."""
    return key.startswith(REQUESTS_PREFIX) and key.endswith(_SUFFIX) and not key.endswith((_STARTED, _ERROR))


def started_key(key: str) -> str:
    """`requests/a.json` → `requests/a.started.json`."""
    return key.removesuffix(_SUFFIX) + _STARTED


def error_key(key: str) -> str:
    """`requests/a.json` → `requests/a.error.json`."""
    return key.removesuffix(_SUFFIX) + _ERROR


def filled(template: Any, key: str) -> Any:
    """The template of a request with the key of an object in place of each `{key}` in its texts."""
    if isinstance(template, str):
        return template.replace(KEY_PLACEHOLDER, key)
    if isinstance(template, list):
        return [filled(item, key) for item in template]
    if isinstance(template, dict):
        return {name: filled(value, key) for name, value in template.items()}
    return template


def read_document(body: bytes, what: str = "object") -> Any:
    """The JSON value in an object or a text; raises InvalidRequest."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"$: the {what} is not JSON in UTF-8 ({error}); write a transfer request") from None


def name_to_start_again(execution: str) -> str:
    """Return what to do after a refusal: Step Functions takes an execution's name once in 90 days."""
    return (
        f"Start the corrected request under another execution name, e.g. '{execution[:MOST_OF_NAME]}-2'; "
        f'with "name": "{execution}" in it the transfer keeps this one'
    )


def refuse_size(size: int, what: str = "object") -> None:
    """Raises InvalidRequest for an object or a text that no execution can take; `size` in bytes."""
    if size > MAX_REQUEST_BYTES:
        raise InvalidRequest(f"$: the {what} has {size} bytes; a request has {MAX_REQUEST_BYTES} at most")
