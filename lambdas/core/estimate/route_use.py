"""A route of a row: the regions that it leads through, its relays, what it carries and costs."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document, Region, StageIndex
from lambdas.core.estimate.figures import Figure, NonNegative


class RouteUse(Document):
    """Contract `estimate`, `rows[].routes`: one way for a part of the bytes.

    `stage`: index of its first stage. `relays`: at each of its regions, source's first; none at the last one where the
    relays before it send straight to the receiver. `rate`: of all of them together. `share`: of the bytes.
    """

    stage: StageIndex
    regions: list[Region] = Field(min_length=2, max_length=4)
    relays: list[Count] = Field(min_length=2, max_length=4)
    rate: Figure = Field(alias="rateMBps")
    share: Annotated[float, Field(ge=0, le=1)] = 0.0
    usd_per_gb: NonNegative = Field(alias="usdPerGB")
    """Egress at every border."""
    hours_usd: list[NonNegative] = Field(alias="relayHoursUsd")
    """Dollars for an hour of one relay at each of its regions."""

    @property
    def count(self) -> int:
        """Relays of all its stages."""
        return sum(self.relays)

    @property
    def paths(self) -> int:
        """Ways for data side by side, where its relays are alike."""
        return min(count for count in self.relays if count)

    @property
    def between(self) -> list[str]:
        """The third regions."""
        return self.regions[1:-1]

    @property
    def words(self) -> str:
        """`3 relays through eu-central-1`, or `2 relays straight`."""
        how = f"through {', '.join(self.between)}" if self.between else "straight"
        return f"{self.count} relays {how}"

    def has(self, stage: int) -> bool:
        """Return whether a stage is one of its own."""
        return self.stage <= stage < self.stage + len(self.regions)

    def stages(self) -> dict[int, int]:
        """Relays by index of their stage; a stage without any is left out."""
        return {index: count for index, count in enumerate(self.relays, self.stage) if count}


def in_words(uses: Sequence[RouteUse]) -> str:
    """`2 relays straight and 3 relays through eu-central-1`."""
    return " and ".join(use.words for use in uses if use.count)
