"""Starts by objects that people add, judged as `starts.objects` of the settings are (infra/lib/config-starts.ts).

Only what collects objects can be added: its source is the bucket. `tests/contracts/starts.json` holds both against
each other. All of them are one versioned document, so that whoever adds one has judged it beside all others.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, ValidationError

from lambdas.core.documents import Count, Document, Region
from lambdas.core.ends.allowed_buckets import AllowedBucket
from lambdas.core.ends.bucket import BucketEnd, BucketName
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.arrivals import ADDED, START_NAME, CollectedStart, WindowSeconds
from lambdas.core.intake.templates import NAME_REMEDY, judge_template
from lambdas.core.request.problems import describe
from lambdas.core.request.request import Limits, TransferRequest

WINDOW_SECONDS = 60
PREFIX, SUFFIX = r"^[^*\\]*$", r"^[^*\\]+$"
# A table's item has 400 KB, and each object that comes has all of it read.
MOST_STARTS, MOST_CHARACTERS = 50, 100_000
_RIGHT = {
    "$.name": NAME_REMEDY,
    "$.bucket": 'write the name of a bucket, e.g. "exports"',
    "$.prefix": "write the beginning of a key, without *",
    "$.suffix": 'write the end of a key, without *, e.g. ".csv"',
    "$.windowSeconds": "write a whole number from 10 to 3600",
}


class Listening(NamedTuple):
    """Where a start listens and where its transfers write, whoever has made it."""

    name: str
    bucket: str
    prefix: str
    written: tuple[str, str] | None
    """Bucket and prefix of the destination; None where that is no bucket."""

    def starts(self, other: "Listening") -> bool:
        """Whether what its transfers write starts `other`."""
        if self.written is None or self.written[0] != other.bucket:
            return False
        written = self.written[1]
        return written.startswith(other.prefix) or other.prefix.startswith(written)


class ObjectStart(Document):
    """A start with its name, as an entry of `starts.objects` is written."""

    name: Annotated[str, Field(pattern=START_NAME)]
    bucket: BucketName
    prefix: Annotated[str, Field(pattern=PREFIX)] = ""
    suffix: Annotated[str | None, Field(pattern=SUFFIX)] = None
    window_seconds: WindowSeconds = WINDOW_SECONDS
    request: dict[str, Any]

    @property
    def region(self) -> Region:
        """Where the bucket is, as the request says."""
        return str(self.request["source"]["region"])

    @property
    def listening(self) -> Listening:
        """Where it listens and writes."""
        return Listening(self.name, self.bucket, self.prefix, written_by(self.request))

    @property
    def collected(self) -> CollectedStart:
        """As the windows know it: one of the settings may have the same name."""
        return CollectedStart(name=f"{ADDED}{self.name}", window_seconds=self.window_seconds, request=self.request)

    def takes(self, bucket: str, key: str) -> bool:
        """Whether an object is one of those that it listens to."""
        return self.bucket == bucket and key.startswith(self.prefix) and key.endswith(self.suffix or "")


class AddedStarts(Document):
    """All that are added; each change is the next version."""

    version: Count = 0
    starts: list[ObjectStart] = Field(default_factory=list)

    def named(self, name: str) -> ObjectStart | None:
        """The start of that name."""
        return next((start for start in self.starts if start.name == name), None)

    def of_window(self, start: str) -> ObjectStart | None:
        """The start for which a window collects."""
        return self.named(start.removeprefix(ADDED)) if start.startswith(ADDED) else None

    def taking(self, bucket: str, key: str) -> list[ObjectStart]:
        """Those that listen to an object."""
        return [start for start in self.starts if start.takes(bucket, key)]

    def with_(self, start: ObjectStart) -> Self:
        """Another one, or one in place of that which has its name; raises InvalidRequest where there is no room."""
        changed = self._next([*(one for one in self.starts if one.name != start.name), start])
        if len(changed.starts) > MOST_STARTS:
            raise InvalidRequest(
                f"$.name: {len(self.starts)} are added, and there is room for {MOST_STARTS}; remove some"
            )
        if len(changed.to_json()) > MOST_CHARACTERS:
            raise InvalidRequest(
                f"$.request: with it all that are added have {len(changed.to_json()):,} characters, and there is room "
                f"for {MOST_CHARACTERS:,}; write shorter rules, or remove some"
            )
        return changed

    def without(self, names: Iterable[str]) -> Self:
        """Those are no more."""
        gone = set(names)
        return self._next([one for one in self.starts if one.name not in gone])

    def _next(self, starts: list[ObjectStart]) -> Self:
        return self.model_copy(
            update={"version": self.version + 1, "starts": sorted(starts, key=lambda start: start.name)}
        )


def written_by(request: dict[str, Any]) -> tuple[str, str] | None:
    """Bucket and prefix that transfers of a template write to."""
    end = request["destination"]
    return (str(end["bucket"]), str(end.get("prefix", ""))) if end.get("kind") == "bucket" else None


def read_object_start(
    written: object, limits: Limits, buckets: Sequence[AllowedBucket] | None, others: Iterable[Listening]
) -> ObjectStart:
    """The start, if it can work beside the others; raises InvalidRequest.

    `buckets`: None where nobody knows what is allowed.
    """
    try:
        start = ObjectStart.from_document(written)
    except ValidationError as error:
        raise InvalidRequest(describe(error, _RIGHT)) from None
    request = judge_template(start.request, limits, buckets)
    if problems := [*_of_listening(start, request), *_of_keys(start)]:
        raise InvalidRequest(problems)
    if buckets is not None and (why := _untold(start, buckets)):
        raise InvalidRequest(f"$.bucket: '{start.bucket}': {why}")
    if problem := circle([start.listening, *others]):
        raise InvalidRequest(problem)
    return start


def _of_listening(start: ObjectStart, request: TransferRequest) -> Iterator[str]:
    source = request.source
    if not isinstance(source, BucketEnd):
        yield (
            "$.request.source: its source is no bucket, and each object would start a transfer of its own; write "
            f'"source": {{"kind": "bucket", "bucket": "{start.bucket}", "region": …}}, or add it to cpt.starts.objects '
            "in cdk.json"
        )
        return
    if source.bucket != start.bucket:
        yield (
            f"$.request.source.bucket: '{source.bucket}': the objects that come are moved; write '{start.bucket}', as "
            "in $.bucket"
        )
    if not start.prefix.startswith(source.prefix):
        yield (
            f"$.request.source.prefix: '{source.prefix}': keys that begin with '{start.prefix}' do not all begin with "
            "it; write a beginning of that which ends with /"
        )


def _of_keys(start: ObjectStart) -> Iterator[str]:
    if start.request["source"].get("keys") is not None:
        yield "$.request.source.keys: leave it out; each start has the list of what has come"
    elif "{key}" in json.dumps(start.request):
        yield "$.request: '{key}': leave it out; objects are collected, and a transfer has a list of keys"


def _untold(start: ObjectStart, buckets: Sequence[AllowedBucket]) -> str | None:
    """Why nobody tells of its objects; None where the deployment has a rule for all of them."""
    told = [one for one in buckets if one.starts and one.bucket == start.bucket]
    if any(start.prefix.startswith(one.prefix) for one in told):
        return None
    below = " or ".join(f"'{one.prefix}'" for one in told)
    if told:
        return f"starts may be added for keys that begin with {below}; write a prefix that does"
    return 'the deployment does not listen to it; write "starts": true into its entry of cpt.buckets, and deploy'


def circle(starts: Sequence[Listening]) -> str | None:
    """What is wrong with the first of them: its transfers start it again, by way of others or at once."""
    first = starts[0]
    way = [first]
    for start in way:
        if start.starts(first):
            by = "it" if start is first else f"'{start.name}', which it leads to,"
            return (
                f"$.request.destination: {by} writes where it listens (s3://{first.bucket}/{first.prefix}), so it "
                "would start itself for ever; write to another bucket or prefix"
            )
        way += [one for one in starts if one not in way and start.starts(one)]
    return None
