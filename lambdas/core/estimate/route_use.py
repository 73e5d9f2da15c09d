"""A route of a row: the regions that it leads through, its relays, what it carries and costs."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document, Region, StageIndex
from lambdas.core.estimate.figures import Figure, NonNegative


class RouteUse(Document):
    """Contract `estimate`, `rows[].routes`: one way for a part of the bytes.

    `stage`: index of its first stage. `relays`: at each of its regions, source's first; none at the last one where the
    relays before it send straight to the receiver. `lent`: how many of them are machines of the user, which cost
    nothing; absent for none. `rate`: of all of them together. `share`: of the bytes.
    """

    stage: StageIndex
    regions: list[Region] = Field(min_length=2, max_length=4)
    relays: list[Count] = Field(min_length=2, max_length=4)
    lent: list[Count] | None = Field(default=None, alias="lentRelays", min_length=2, max_length=4)
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
    def paid(self) -> list[int]:
        """Relays at each of its regions that are launched for the transfer."""
        lent = self.lent or [0] * len(self.relays)
        return [count - there for count, there in zip(self.relays, lent, strict=True)]

    @property
    def paths(self) -> int:
        """Ways for data side by side, where its relays are alike."""
        return min((count for count in self.relays if count), default=0)

    @property
    def between(self) -> list[str]:
        """Regions between those of the source and the destination, in their order."""
        return self.regions[1:-1]

    @property
    def indices(self) -> range:
        """Those of its stages, whether or not relays are there."""
        return range(self.stage, self.stage + len(self.relays))

    def most_of(self, live: Mapping[int, int]) -> float:
        """The most that its relays carry together at any moment, MB/s, while so many live at each stage.

        All of it while any does: nobody knows what fewer of them carry, and one that is to be left has no relays here.
        """
        return self.rate.most if any(live.get(stage) for stage in self.indices if self.has(stage)) else 0.0

    @property
    def words(self) -> str:
        """`3 relays through eu-central-1`, `2 relays straight`, or `1 source and 3 destination relays`."""
        counts, between = self.relays, f"through {', '.join(self.between)}"
        if len(counts) == 2 and counts[1] and counts[0] != counts[1]:
            return f"{counts[0]} source and {counts[1]} destination relays"
        number = f"{self.count} relay{'' if self.count == 1 else 's'}"
        if counts[-1]:
            return f"{number} {between if self.between else 'straight'}"
        return f"{number} {f'{between} and ' if self.between else ''}straight into the receiver"

    def is_beside(self, stage: int, end: int) -> bool:
        """Return whether a stage is its stage beside an end: 0 is the source, -1 the destination."""
        return stage == self.indices[end]

    def to_launch(self) -> dict[int, list[int]]:
        """Slots by index of their stage that no machine of the user fills."""
        places = enumerate(zip(self.relays, self.paid, strict=True), self.stage)
        return {index: list(range(count - new + 1, count + 1)) for index, (count, new) in places if new}

    def has(self, stage: int) -> bool:
        """Return whether a stage is one of its own; where its last relays send straight to the receiver, none is there.

        Of a route that was left, which has no relays, that is not known.
        """
        straight = bool(self.count) and not self.relays[-1]
        return self.stage <= stage < self.indices.stop - straight

    def stages(self) -> dict[int, int]:
        """Relays by index of their stage; a stage without any is left out."""
        return {index: count for index, count in enumerate(self.relays, self.stage) if count}


def in_words(uses: Sequence[RouteUse]) -> str:
    """`2 relays straight and 3 relays through eu-central-1`."""
    return " and ".join(use.words for use in uses if use.count)


def with_paths(uses: Sequence[RouteUse], paths: int) -> list[RouteUse]:
    """So many paths in all, where that is another number: of one route alone, since several are planned as a whole."""
    if len(uses) != 1 or uses[0].paths == paths:
        return list(uses)
    return [_with_paths(uses[0], paths)]


def one_path_fewer(uses: Sequence[RouteUse]) -> list[RouteUse]:
    """Without a path of the last route, and without the route where that was all of it."""
    *others, last = uses
    return [*others, _with_paths(last, last.paths - 1)] if last.paths > 1 else others


def _with_paths(use: RouteUse, paths: int) -> RouteUse:
    relays = [ceil(count * paths / use.paths) for count in use.relays]
    return use.model_copy(update={"relays": relays})
