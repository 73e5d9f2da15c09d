"""The bound on a sender's rate, Mbit/s: what a request said, and what people have set since."""

from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Document, Integer, TransferId

MBIT_PER_MB = 8

# More than any instance has; what is larger was meant in another unit.
MOST_MBPS = 1_000_000
Mbps = Annotated[Integer, Field(ge=1, le=MOST_MBPS)]


class LimitRequest(Document):
    """Contract `limit-request`; None removes the limit."""

    transfer_id: TransferId
    bandwidth_limit_mbps: Mbps | None


class BandwidthLimit(Document):
    """What holds now, and the lowest that ever held; None: no limit."""

    mbps: Mbps | None = None
    lowest_mbps: Mbps | None = None

    def set_to(self, mbps: int | None) -> "BandwidthLimit":
        """From now on `mbps`."""
        known = [limit for limit in (self.lowest_mbps, mbps) if limit is not None]
        return BandwidthLimit(mbps=mbps, lowest_mbps=min(known, default=None))
