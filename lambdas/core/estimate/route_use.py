"""A route of a row: the regions that it leads through, its relays, what it carries and costs."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Annotated, Self

from pydantic import Field

from lambdas.core.documents import MAX_STAGES, Count, Document, Region, StageIndex
from lambdas.core.estimate.figures import Bound, Figure, Figures, NonNegative
from lambdas.core.estimate.pre_tests import Probes
from lambdas.core.models.zero_wait import Serving


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
    pooled: list[Count] | None = Field(default=None, alias="pooledRelays", min_length=2, max_length=4)
    """How many of them are leases in the pool, which cost by the GB; absent for none."""
    rate: Figure = Field(alias="rateMBps")
    share: Annotated[float, Field(ge=0, le=1)] = 0.0
    usd_per_gb: NonNegative = Field(alias="usdPerGB")
    """Egress at every border."""
    hours_usd: list[NonNegative] = Field(alias="relayHoursUsd")
    """Dollars for an hour of one relay at each of its regions."""

    @property
    def by_pairs(self) -> bool:
        """Return whether the estimate's figures of one pair tell of it: then a document need not hold it."""
        return False

    @property
    def slots(self) -> int:
        """How many times it is the pair that the estimate's figures know; a planned route has figures of its own."""
        return 0

    @property
    def tested(self) -> "RouteUse":
        """What is launched where it is pre-tested: just as much, of which each hop is measured."""
        return self

    @property
    def tested_hops(self) -> int:
        """Hops that are measured one after the other: as of the longest route, since all routes wait for each other."""
        return MAX_STAGES - 1

    @property
    def count(self) -> int:
        """Relays of all its stages."""
        return sum(self.relays)

    @property
    def paid(self) -> list[int]:
        """Relays at each of its regions that are launched for the transfer."""
        none = [0] * len(self.relays)
        there = zip(self.relays, self.lent or none, self.pooled or none, strict=True)
        return [count - lent - pooled for count, lent, pooled in there]

    @property
    def pooled_share(self) -> float:
        """The part of what it carries that goes through the pool: as much as the side with the fewest leases has."""
        if self.pooled is None:
            return 0.0
        return min(part / count if count else 0.0 for part, count in zip(self.pooled, self.relays, strict=True))

    @property
    def paths(self) -> int:
        """Ways for data side by side, where its relays are alike; none where relays before others are missing."""
        return 0 if 0 in self.relays[:-1] else min(filter(None, self.relays))

    @property
    def between(self) -> list[str]:
        """Regions between those of the source and the destination, in their order."""
        return self.regions[1:-1]

    @property
    def indices(self) -> range:
        """Those of its stages, whether or not relays are there."""
        return range(self.stage, self.stage + len(self.relays))

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

    @property
    def words_beside_number(self) -> str:
        """What a row says of it beside its number of pairs; nothing of a route that was left."""
        return self.words if self.count else ""

    def most_of(self, live: Mapping[int, int]) -> float:
        """The most that its relays carry together at any moment, MB/s, while so many live at each stage.

        All of it while any does: nobody knows what fewer of them carry, and one that is to be left has no relays here.
        """
        return self.rate.most if any(live.get(stage) for stage in self.indices if self.has(stage)) else 0.0

    def servings(self, figures: Figures, wait_seconds: float) -> list[Serving]:
        """When it carries what; `wait_seconds`: its pre-test, after which its relays join."""
        limit = self.rate.limit
        joins = figures.spawn.value + wait_seconds
        return [Serving(limit.rate, joins, burst=limit.burst, credit=limit.credit)]

    def at(self, bound: Bound, figures: Figures) -> Self:
        """The route as if its rate were at a bound, as those of `figures` are."""
        return self.model_copy(update={"rate": self.rate.at(bound)})

    def gb_usd(self, figures: Figures) -> float:
        """Dollars per GB that arrives this way, with what is sent again for it."""
        return figures.sent_share * (self.usd_per_gb + self.pooled_share * figures.pool_gb_usd)

    def most_gb_usd(self, figures: Figures) -> float:
        """The same if all of it went through the pool: leases may come free that an estimate did not count on."""
        rest = (1.0 - self.pooled_share) * figures.pool_gb_usd
        return self.gb_usd(figures) + (figures.sent_share * rest if self.count else 0.0)

    def beside_gb_usd(self, figures: Figures) -> float:
        """The same of what goes by the direct path beside it."""
        return figures.gb_usd(0)

    def probes(self, probe_seconds: float) -> Probes:
        """What its pre-test sends out of regions; nothing is known of a route that no plan has made."""
        return Probes()

    def is_beside(self, stage: int, end: int) -> bool:
        """Return whether a stage is its stage beside an end: 0 is the source, -1 the destination."""
        return stage == self.indices[end]

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
    """`2 relays straight and 3 relays through eu-central-1`; empty for pairs, whose number says it all."""
    return " and ".join(filter(None, (use.words_beside_number for use in uses)))


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
