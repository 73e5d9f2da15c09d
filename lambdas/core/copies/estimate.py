"""What copies between two buckets take, before they are made: money by the requests, time as a range."""

from typing import NamedTuple

from lambdas.core.copies.units import FUNCTIONS_AT_ONCE
from lambdas.core.documents import Count, Document
from lambdas.core.tariff import storage_classes
from lambdas.core.tariff.prices import PriceBook

REQUESTS_AT_ONCE = 32
"""Of one function."""
# A look, and what S3 bills as a copy; it takes 3 500 writes a second below a prefix before it splits that.
PREFIX_WRITES_PER_SECOND = 3_500.0
# One request: what S3 needs at least for a small object, and what it may need under load.
LEAST_SECONDS, MOST_SECONDS = 0.03, 0.25
# S3 copies 85 to 90 MB/s by one request.
MB_S_OF_REQUEST = 85.0


class CopyEstimate(Document):
    """Dollars, traffic between regions included, and seconds from the fastest to the slowest."""

    usd: float
    least_seconds: float
    most_seconds: float


class Planned(NamedTuple):
    """What a listing has found to be copied: objects, bytes, and the writes that these take of S3."""

    objects: Count
    bytes: Count
    writes: Count


def estimate(
    planned: Planned, source_region: str, destination_region: str, storage_class: str | None = None
) -> CopyEstimate:
    """Of all that is planned, into a storage class; functions and transitions, a hundredth of it, are left out."""
    book = PriceBook()
    writes = storage_classes.writes_usd(storage_class, planned.objects, planned.writes - planned.objects)
    requests = writes + planned.objects * book.unit("object-get", "").usd
    egress = planned.bytes / 1e9 * book.egress_gb(source_region, destination_region).usd
    at_once = FUNCTIONS_AT_ONCE * REQUESTS_AT_ONCE
    all_requests = planned.writes + planned.objects
    bytes_seconds = planned.bytes / 1e6 / MB_S_OF_REQUEST
    least = max(planned.writes / PREFIX_WRITES_PER_SECOND, all_requests * LEAST_SECONDS / at_once)
    return CopyEstimate(
        usd=requests + egress,
        least_seconds=round(least + bytes_seconds / at_once, 3),
        # As many as one function has, where the objects are few and of one unit.
        most_seconds=round(all_requests * MOST_SECONDS / REQUESTS_AT_ONCE + bytes_seconds / REQUESTS_AT_ONCE, 3),
    )
