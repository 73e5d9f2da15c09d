"""What S3 asks for restoring archived objects, and within what time it usually does: published, no price list is asked.

Dollars in us-west-2 (https://aws.amazon.com/s3/pricing/) and hours of S3's user guide ("Archive retrieval options"),
both gathered on 2026-11-21, as the other prices that no list has.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

Tier = Literal["Standard", "Bulk", "Expedited"]
TIERS: tuple[Tier, ...] = get_args(Tier)
USUAL_TIER: Tier = "Standard"
PRICED_REGIONS = frozenset({"us-west-2", "us-east-1", "us-east-2"})
# An assumption about all other regions, none of which is in this table.
DEARER_AT_MOST = 2.0


class Retrieval(NamedTuple):
    """Dollars per GB (10^9 bytes) and per request; `hours`: it usually takes no longer."""

    gb: float
    request: float
    hours: float


_FIVE_MINUTES = 5 / 60
# INTELLIGENT_TIERING has two archives: the hours are those of its deep one, which has no expedited retrieval.
_RETRIEVALS: Mapping[tuple[str, Tier], Retrieval] = {
    ("GLACIER", "Standard"): Retrieval(0.01, 0.05 / 1e3, 5),
    ("GLACIER", "Bulk"): Retrieval(0.0, 0.0, 12),
    ("GLACIER", "Expedited"): Retrieval(0.03, 10.0 / 1e3, _FIVE_MINUTES),
    ("DEEP_ARCHIVE", "Standard"): Retrieval(0.02, 0.10 / 1e3, 12),
    ("DEEP_ARCHIVE", "Bulk"): Retrieval(0.0025, 0.025 / 1e3, 48),
    ("INTELLIGENT_TIERING", "Standard"): Retrieval(0.0, 0.0, 12),
    ("INTELLIGENT_TIERING", "Bulk"): Retrieval(0.0, 0.0, 48),
}


def retrieval(storage_class: str, tier: Tier) -> Retrieval | None:
    """Of one class and tier; None where no object of the class can be restored so."""
    return _RETRIEVALS.get((storage_class, tier))


def tiers_of(storage_class: str) -> list[Tier]:
    """The tiers by which any object of a class can be restored."""
    return [tier for tier in TIERS if (storage_class, tier) in _RETRIEVALS]
