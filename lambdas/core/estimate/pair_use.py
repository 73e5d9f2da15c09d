"""The route beside the ends as a row uses it: what it carries is known by the slots of its pairs."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field

from lambdas.core.documents import Count, Region
from lambdas.core.estimate import pre_tests
from lambdas.core.estimate.data_time import pair_servings, share_of_each
from lambdas.core.estimate.figures import Bound, Burst, Figure, Figures, NonNegative
from lambdas.core.estimate.pair_route import SIDES
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.models.zero_wait import Serving


class PairUse(RouteUse):
    """A `RouteUse` whose rates follow from `figures`; so a document of an estimate need not hold it."""

    regions: list[Region]
    """None where figures are given, of ends that nobody has named."""
    relays: list[Count] = Field(min_length=1, max_length=SIDES)
    hours_usd: list[NonNegative] = Field(alias="relayHoursUsd")
    figures: Figures = Field(exclude=True)
    pairs: int = Field(exclude=True)

    @property
    def by_pairs(self) -> bool:
        """It is what the figures say of so many pairs."""
        return True

    @property
    def words(self) -> str:
        """`3 pairs`."""
        return self.figures.route.words(self.pairs)

    @property
    def slots(self) -> int:
        """Each pair fills one."""
        return self.pairs

    @property
    def words_beside_number(self) -> str:
        """The number of the row says it all."""
        return ""

    @property
    def tested(self) -> RouteUse:
        """Twice as many pairs, of which the better half is kept."""
        return pair_use(pre_tests.TESTED * self.pairs, self.figures)

    @property
    def tested_hops(self) -> int:
        """From one relay to the other."""
        return 1

    def most_of(self, live: Mapping[int, int]) -> float:
        """Each slot carries its own, so fewer pairs than planned carry less, and those of a pre-test more."""
        pairs = min(live.get(stage, 0) for stage in self.indices)
        return sum(self.figures.pair_at(slot).most for slot in range(pairs))

    def servings(self, figures: Figures, wait_seconds: float) -> list[Serving]:
        """Each pair by itself; after a pre-test they are the better half."""
        gain = better_half(self.pairs) * figures.pair_spread.value if wait_seconds else 0.0
        return pair_servings(self.pairs, self.figures, wait_seconds, gain)

    def at(self, bound: Bound, figures: Figures) -> Self:
        """Its pairs as the worse or better figures have them."""
        return self.model_copy(update={"figures": figures})

    def gb_usd(self, figures: Figures) -> float:
        """With what goes between zones to the relays."""
        return figures.gb_usd(self.pairs) + figures.sent_share * self.pooled_share * figures.pool_gb_usd

    def beside_gb_usd(self, figures: Figures) -> float:
        """As if all went to relays in other zones, since nobody knows how much does."""
        return figures.gb_usd(self.pairs)

    def probes(self, probe_seconds: float) -> pre_tests.Probes:
        """All that are tested send at once."""
        return pre_tests.of_pairs(self.pairs, self.figures, probe_seconds)


def better_half(pairs: int) -> float:
    """Mean of the better half of 2p pairs above the mean of all, in standard deviations of a pair.

    It rises to sqrt(2 / pi), 0.798; of so few as 2 the better one is 0.564 above. The fit is within 0.002 for all p.
    """
    return 0.798 * (1 - 0.4 / (pairs + 0.37))


def pair_uses(pairs: int, figures: Figures) -> list[RouteUse]:
    """What so many pairs use; nothing for none."""
    return [pair_use(pairs, figures)] if pairs else []


def pair_use(pairs: int, figures: Figures) -> RouteUse:
    """The route of so many pairs."""
    route = figures.route
    relays = route.relays(pairs)
    rate, direct = _together(pairs, figures), figures.direct.now
    return PairUse(
        stage=0,
        regions=route.regions or [],
        relays=relays,
        lent=route.lent_of(relays),
        pooled=_pooled(pairs, relays, figures),
        rate=rate,
        share=round(rate.now / (rate.now + direct), 4) if rate.now else 0.0,
        usd_per_gb=figures.leaving_gb_usd,
        hours_usd=[figures.hour_usd(stage) for stage, _ in enumerate(relays)],
        figures=figures,
        pairs=pairs,
    )


def _pooled(pairs: int, relays: list[int], figures: Figures) -> list[int] | None:
    """Leases at each side: machines of the user come first, and what is launched last."""
    lent = figures.route.lent_of(relays) or [0] * len(relays)
    count = min(max(pairs - len(figures.lent), 0), figures.pooled or 0)
    found = [min(count, of_side - there) for of_side, there in zip(relays, lent, strict=True)]
    return found if any(found) else None


def _together(pairs: int, figures: Figures) -> Figure:
    """What so many pairs carry, as expected; at most as if none was slowed down by another."""
    each, share = [figures.pair_at(slot) for slot in range(pairs)], share_of_each(pairs, figures)
    now, lasting = (share * sum(values) for values in ([one.now for one in each], [one.value for one in each]))
    least, most = share * sum(one.least for one in each), sum(one.most for one in each)
    like, note = each[-1], f"{pairs} times {each[-1].note}" if pairs > 1 else each[-1].note
    burst = None
    if now > lasting and like.burst:
        credit = like.burst.credit.scaled(share * pairs, like.burst.credit.note)
        rate = Figure(value=now, high=most if most > now else None, origin=like.burst.rate.origin, note=note)
        burst = Burst(rate=rate, credit=credit)
    high = most if most > lasting and not burst else None
    return Figure(
        value=lasting, low=least if least < lasting else None, high=high, burst=burst, origin=like.origin, note=note
    )
