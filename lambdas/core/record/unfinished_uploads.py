"""Uploads of a transfer that wait in a bucket for its next run, and what that costs meanwhile."""

from collections.abc import Iterable

from lambdas.core.documents import Count, Document
from lambdas.core.tariff.fallback_prices import BUCKET_GB_MONTH


class UnfinishedUploads(Document):
    """In a record, and in contract `report`.

    `bytes`: of their parts. `until`: from then on (Unix, s) they are aborted, if no run has gone on with them.
    """

    uploads: Count
    bytes: Count
    usd_per_month: float
    until: float

    @classmethod
    def of(cls, sizes: Iterable[int], until: float) -> "UnfinishedUploads":
        """Uploads whose parts have these bytes in all."""
        found = list(sizes)
        size = sum(found)
        return cls(uploads=len(found), bytes=size, usd_per_month=size / 1e9 * BUCKET_GB_MONTH, until=until)


def waiting(found: UnfinishedUploads | None) -> UnfinishedUploads | None:
    """The same for a report, which says nothing where nothing waits."""
    return found if found is not None and found.uploads else None
