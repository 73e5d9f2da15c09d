"""What packing data on its way may save, by a sample of the source."""

from typing import Annotated, Self

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.estimate.figures import NonNegative
from lambdas.core.words import dollars, duration, size

# A smaller part is within what a sample of 64 pieces cannot tell from none.
LEAST_SAVED = 0.03


class Packing(Document):
    """Part of the contract `estimate`: at most so much less than its row says, which counts with the plain size.

    The time is that of a network which is the limit; packing takes the source's processors, and may be given up where
    they are.
    """

    share: Annotated[float, Field(gt=0, le=1)]
    """Bytes on the wire for a byte of the source."""
    saved_bytes: Count
    saved_seconds: NonNegative
    saved_usd: NonNegative

    @classmethod
    def of(cls, share: float, size_bytes: int, seconds: float, gb_usd: float) -> Self:
        """Of `size_bytes` that take `seconds` and cost `gb_usd` dollars per GB."""
        saved = size_bytes * (1 - share)
        return cls(
            share=round(share, 3),
            saved_bytes=round(saved),
            saved_seconds=round(seconds * (1 - share), 3),
            saved_usd=round(saved / 1e9 * gb_usd, 6),
        )

    @property
    def words(self) -> str:
        """What packing saves of bytes, seconds and dollars, as a sentence of the estimate's notes."""
        if self.share > 1 - LEAST_SAVED:
            return "a sample of the data does not shrink: it is sent as it is"
        return (
            f"a sample of the data shrinks to {self.share:.0%}: packing saves up to {size(self.saved_bytes)}, "
            f"{duration(self.saved_seconds)} and {dollars(self.saved_usd)} of what is estimated"
        )
