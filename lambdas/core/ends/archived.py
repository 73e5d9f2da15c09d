"""Objects that have to be restored before they can be read: how many, and what restoring them costs."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from lambdas.core.documents import Document, Integer
from lambdas.core.ends.object_writing import ARCHIVES
from lambdas.core.ends.retrieval import USUAL_TIER, Tier, retrieval
from lambdas.core.words import size

ArchivedRule = Literal["refuse", "skip", "restore"]
# S3 keeps a copy as long as it is told; more than a month is a matter of the bucket's owner, not of a transfer.
MOST_DAYS, USUAL_DAYS = 30, 3
# The slowest retrieval, DEEP_ARCHIVE by Bulk, usually takes 48 hours.
USUAL_WAIT_HOURS, MOST_WAIT_HOURS = 72.0, 168.0
_TOLD = re.compile(r"\b(GLACIER|DEEP_ARCHIVE|INTELLIGENT_TIERING): ([0-9]+) objects, ([0-9]+) bytes")


class RestoreWish(Document):
    """How archived objects are restored; `days`: those for which S3 keeps the copies after that."""

    tier: Tier = USUAL_TIER
    days: Annotated[Integer, Field(ge=1, le=MOST_DAYS)] = USUAL_DAYS
    max_wait_hours: Annotated[float, Field(gt=0, le=MOST_WAIT_HOURS)] = USUAL_WAIT_HOURS


class Amount(NamedTuple):
    """Objects, and their bytes."""

    objects: int
    bytes: int


def is_archived(storage_class: str, *, is_restored: bool, archive_status: str | None = None) -> bool:
    """Whether an object has to be restored; `archive_status`: the tier of one in INTELLIGENT_TIERING."""
    return (storage_class in ARCHIVES or archive_status is not None) and not is_restored


def told(reason: str) -> dict[str, Amount]:
    """The amounts by class that a daemon's survey tells (`ends-s3/src/source/listing.rs`), if any."""
    return {name: Amount(int(objects), int(count)) for name, objects, count in _TOLD.findall(reason)}


def restoring_usd(amounts: Mapping[str, Amount], tier: Tier = USUAL_TIER) -> float:
    """Dollars of S3's retrieval, bytes and requests together; a class that has no such tier counts nothing."""
    return sum(
        amount.bytes / 1e9 * price.gb + amount.objects * price.request
        for name, amount in amounts.items()
        if (price := retrieval(name, tier)) is not None
    )


def refusal(amounts: Mapping[str, Amount], first: str, *, at_least: bool = False) -> str:
    """Why nothing is moved, and what to do; `first`: one of them, for people; `at_least`: the listing did not end."""
    objects = sum(amount.objects for amount in amounts.values())
    told_bytes = size(sum(amount.bytes for amount in amounts.values()))
    classes = "; ".join(f"{name}: {one.objects:,}" for name, one in sorted(amounts.items()))
    return (
        f"{'at least ' if at_least else ''}{objects:,} objects of {told_bytes} are archived ({classes}), '{first}' the "
        f"first of them: restoring costs about ${restoring_usd(amounts):,.2f} by S3's standard retrieval, and takes "
        "3 to 12 hours; write $.source.archived as 'restore' or 'skip', or leave them out by $.select"
    )
