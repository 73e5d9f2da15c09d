"""What a start that people add may say: the same as `cpt.starts` of the settings (infra/lib/config-starts.ts).

`tests/lambdas/core/intake/test_templates.py` holds patterns and rules of both against each other.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field, ValidationError

from lambdas.core.documents import Document
from lambdas.core.ends import allowed_buckets
from lambdas.core.ends.allowed_buckets import AllowedBucket, Use
from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.arrivals import START_NAME
from lambdas.core.request.problems import describe
from lambdas.core.request.request import Limits, TransferRequest, parse_request

EXPRESSION = r"^(cron\([^()\s]+( +[^()\s]+){5}\)|rate\([1-9]\d* (minutes?|hours?|days?)\))$"
# EventBridge takes 8 192 characters of a target's template; the rest is around the request.
MOST_CHARACTERS = 7_000
NAME_REMEDY = "call it by up to 30 lower-case letters, digits and dashes"
_NOT_IN_TEMPLATES = {
    "name": "leave it out: each start is named by itself",
    "resume": "leave it out: each start is a new transfer, there is none to go on with",
}
_RIGHT = {
    "$.name": NAME_REMEDY,
    "$.expression": 'write "cron(MINUTE HOUR DAY MONTH WEEKDAY YEAR)" or "rate(N hours)", e.g. "cron(30 2 * * ? *)"',
    "$.timeZone": 'write the name of a time zone, e.g. "Europe/Berlin"',
}


class ScheduleStart(Document):
    """An entry of `starts.schedules`, with its name."""

    name: Annotated[str, Field(pattern=START_NAME)]
    expression: Annotated[str, Field(pattern=EXPRESSION)]
    time_zone: Annotated[str, Field(max_length=64)] = "UTC"
    request: dict[str, Any]


def read_schedule(written: object, limits: Limits, buckets: Iterable[AllowedBucket] | None) -> ScheduleStart:
    """The schedule, if it can work; raises InvalidRequest. `buckets`: None where nobody knows what is allowed."""
    try:
        start = ScheduleStart.from_document(written)
    except ValidationError as error:
        raise InvalidRequest(describe(error, _RIGHT)) from None
    if not _is_time_zone(start.time_zone):
        raise InvalidRequest(f"$.timeZone: {json.dumps(start.time_zone)} is not known; {_RIGHT['$.timeZone']}")
    judge_template(start.request, limits, buckets)
    return start


def judge_template(written: dict[str, Any], limits: Limits, buckets: Iterable[AllowedBucket] | None) -> TransferRequest:
    """The request that each start has; raises InvalidRequest."""
    try:
        request = parse_request(written, limits)
    except InvalidRequest as error:
        raise InvalidRequest([_below_request(problem) for problem in error.problems]) from None
    if problems := [*_of_templates(written), *(_of_buckets(request, list(buckets)) if buckets is not None else ())]:
        raise InvalidRequest(problems)
    return request


def _below_request(problem: str) -> str:
    return problem.replace("$", "$.request", 1) if problem.startswith("$") else problem


def _of_templates(written: dict[str, Any]) -> Iterator[str]:
    for key, remedy in _NOT_IN_TEMPLATES.items():
        if written.get(key) is not None:
            yield f"$.request.{key}: {json.dumps(written[key])} is not valid in a template; {remedy}"
    text = json.dumps(written, separators=(",", ":"), ensure_ascii=False)
    if "<" in text or ">" in text:
        yield "$.request: EventBridge takes no < or > in it; rename the path"
    if len(text) > MOST_CHARACTERS:
        yield f"$.request: it has {len(text):,} characters; EventBridge takes {MOST_CHARACTERS:,} of a template"


def _of_buckets(request: TransferRequest, allowed: list[AllowedBucket]) -> Iterator[str]:
    writing: tuple[Use, ...] = ("write", "delete") if request.delete else ("write",)
    reading: tuple[Use, ...] = ("read",)
    for side, end, uses in (("source", request.source, reading), ("destination", request.destination, writing)):
        if isinstance(end, BucketEnd):
            why = allowed_buckets.refusal(allowed, end.bucket, end.prefix, end.region, uses)
            if why is not None:
                yield f"$.request.{side}.bucket: '{end.bucket}': {why}"


def _is_time_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
