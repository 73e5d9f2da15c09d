"""The route beside the two ends as a row uses it: what it carries is known by the slots of its pairs."""

from collections.abc import Mapping

from pydantic import Field

from lambdas.core.documents import Region
from lambdas.core.estimate.data_time import share_of_each
from lambdas.core.estimate.figures import Burst, Figure, Figures
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.route_use import RouteUse


class PairUse(RouteUse):
    """A `RouteUse` whose rates follow from `figures`; so a document of an estimate need not hold it."""

    regions: list[Region]
    """None where figures are given, of ends that nobody has named."""
    figures: Figures = Field(exclude=True)

    def most_of(self, live: Mapping[int, int]) -> float:
        """Each slot carries its own, so fewer pairs than planned carry less, and those of a pre-test more."""
        pairs = min(live.get(stage, 0) for stage in self.indices)
        return sum(self.figures.pair_at(slot).most for slot in range(pairs))


def pair_uses(pairs: int, figures: Figures) -> list[RouteUse]:
    """What so many pairs use; nothing for none."""
    if not pairs:
        return []
    route = figures.pair_route or PairRoute()
    relays = route.relays(pairs)
    rate, direct = _together(pairs, figures), figures.direct.now
    return [
        PairUse(
            stage=0,
            regions=route.regions or [],
            relays=relays,
            lent=route.lent_of(relays),
            rate=rate,
            share=round(rate.now / (rate.now + direct), 4) if rate.now else 0.0,
            usd_per_gb=figures.leaving_gb_usd,
            hours_usd=[figures.hour_usd(stage) for stage, _ in enumerate(relays)],
            figures=figures,
        )
    ]


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
