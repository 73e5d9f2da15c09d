"""A finding: what was checked, the result, and the remedy."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, Self

from botocore.exceptions import ClientError
from pydantic import model_validator

from lambdas.adapters.throttling import is_denied
from lambdas.core.documents import Document
from lambdas.core.errors import MissingPermission

_ASK = "ask whoever keeps the account for that permission, or to run cpt doctor"

Check = Literal[
    "clock", "deployment", "documents", "image", "daemon", "request", "machine", "agent", "policy", "group", "consent",
    "subnets", "names", "path", "quota", "functions", "starts", "buckets",
]  # fmt: skip
Status = Literal["ok", "warning", "failed", "unknown"]


class Finding(Document):
    """Contract `finding`. Warning: transfers work, with fewer relays or soon not; unknown: AWS did not say."""

    check: Check
    about: str
    status: Status
    message: str
    remedy: str | None = None

    @model_validator(mode="after")
    def _says_what_to_do(self) -> Self:
        if (self.remedy is None) != (self.status == "ok"):
            raise ValueError("a remedy belongs to whatever is not ok, and to nothing else")
        return self


Findings = Iterator[Finding]


def ok(check: Check, about: str, message: str) -> Finding:
    """Return a finding that needs nothing."""
    return Finding(check=check, about=about, status="ok", message=message)


def warning(check: Check, about: str, message: str, remedy: str) -> Finding:
    """Transfers work all the same."""
    return Finding(check=check, about=about, status="warning", message=message, remedy=remedy)


def failed(check: Check, about: str, message: str, remedy: str) -> Finding:
    """Transfers fail because of it."""
    return Finding(check=check, about=about, status="failed", message=message, remedy=remedy)


def looked(check: Check, about: str, find: Callable[[], Iterable[Finding]]) -> Findings:
    """Return what `find` finds; where AWS refuses a call, that this could not be looked at."""
    try:
        yield from find()
    except MissingPermission as error:
        yield Finding(check=check, about=about, status="unknown", message=str(error), remedy=_ASK)
    except ClientError as error:
        said = error.response["Error"]
        remedy = _ASK if is_denied(error) else "see what AWS says, and look again"
        message = f"AWS refused {error.operation_name}: {said['Code']}: {said.get('Message', '')}"
        yield Finding(check=check, about=about, status="unknown", message=message, remedy=remedy)
