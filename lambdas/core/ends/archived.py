"""Objects that have to be restored before they can be read: how many, and what restoring them costs."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lambdas.core.ends.object_writing import ARCHIVES
from lambdas.core.words import size

# "Standard" retrieval in us-west-2, dollars per GB and per 1 000 requests (https://aws.amazon.com/s3/pricing/).
_USD: Mapping[str, tuple[float, float]] = {"GLACIER": (0.01, 0.05), "DEEP_ARCHIVE": (0.02, 0.10)}
_TOLD = re.compile(r"\b(GLACIER|DEEP_ARCHIVE|INTELLIGENT_TIERING): ([0-9]+) objects, ([0-9]+) bytes")


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


def restoring_usd(amounts: Mapping[str, Amount]) -> float:
    """Dollars of S3's standard retrieval; objects of INTELLIGENT_TIERING come back for nothing."""
    return sum(
        amount.bytes / 1e9 * _USD[name][0] + amount.objects / 1000 * _USD[name][1]
        for name, amount in amounts.items()
        if name in _USD
    )


def refusal(amounts: Mapping[str, Amount], first: str, *, at_least: bool = False) -> str:
    """Why nothing is moved, and what to do; `first`: one of them, for people; `at_least`: the listing did not end."""
    objects = sum(amount.objects for amount in amounts.values())
    told_bytes = size(sum(amount.bytes for amount in amounts.values()))
    classes = "; ".join(f"{name}: {one.objects:,}" for name, one in sorted(amounts.items()))
    return (
        f"{'at least ' if at_least else ''}{objects:,} objects of {told_bytes} are archived ({classes}), '{first}' the "
        f"first of them: restoring costs about ${restoring_usd(amounts):,.2f} by S3's standard retrieval, and takes "
        "3 to 12 hours; restore them first, leave them out by $.select, or write $.source.archived as 'skip'"
    )
