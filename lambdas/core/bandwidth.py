"""The bound on a sender's rate, Mbit/s: what a request said, and what people have set since."""

from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Document, Integer, TransferId

MBIT_PER_MB = 8
# Whoever changes it more often sees the last ones: the record that they stand in is read by everybody.
MAX_CHANGES = 100

# More than any instance has; what is larger was meant in another unit.
MOST_MBPS = 1_000_000
Mbps = Annotated[Integer, Field(ge=1, le=MOST_MBPS)]


def limit_in_words(mbps: int | None) -> str:
    """`400 Mbit/s (50 MB/s)`, or `lifted`."""
    return "lifted" if mbps is None else f"{mbps:,} Mbit/s ({mbps / MBIT_PER_MB:,.4g} MB/s)"


class LimitRequest(Document):
    """Contract `limit-request`; None removes the limit."""

    transfer_id: TransferId
    bandwidth_limit_mbps: Mbps | None


class LimitChange(Document):
    """Somebody set another limit `at` (Unix seconds); None: lifted it."""

    at: Annotated[float, Field(ge=0)]
    mbps: Mbps | None = None


class BandwidthLimit(Document):
    """What holds now, the lowest that ever held, and the last changes; None: no limit."""

    mbps: Mbps | None = None
    lowest_mbps: Mbps | None = None
    changes: list[LimitChange] = Field(default_factory=list)

    def set_to(self, mbps: int | None) -> "BandwidthLimit":
        """The limit of the request: it holds from the beginning."""
        known = [limit for limit in (self.lowest_mbps, mbps) if limit is not None]
        return self.model_copy(update={"mbps": mbps, "lowest_mbps": min(known, default=None)})

    def changed_to(self, mbps: int | None, at: float) -> "BandwidthLimit":
        """`mbps` from `at` on."""
        changes = [*self.changes, LimitChange(at=at, mbps=mbps)][-MAX_CHANGES:]
        return self.set_to(mbps).model_copy(update={"changes": changes})
