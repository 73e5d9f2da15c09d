"""What is known of one link: from one region to another, through one pair of relays of a type.

A link is measured by every transfer and pre-test that used it. What was measured long ago counts for less than it says.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document, InstanceType, Region
from lambdas.core.estimate import measured, published_limits
from lambdas.core.estimate.figures import Figure, NonNegative, Origin, least
from lambdas.core.estimate.history import LEAST_SPREAD
from lambdas.core.estimate.offers import priced
from lambdas.core.estimate.profile import Profile
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import Price

STALE_SECONDS = 24 * 3600.0
"""Rates between regions have a daily course: what was measured in another one is a guess."""


@dataclass(frozen=True)
class LinkKey:
    """From one region to another, by relays of one type."""

    from_region: str
    to_region: str
    instance_type: str

    @property
    def region_pair(self) -> str:
        """Its key in the profile table, as `AcceptedTransfer.region_pair` has it."""
        return f"{self.from_region}>{self.to_region}"

    @property
    def words(self) -> str:
        """`us-west-2 to eu-west-1`."""
        return f"{self.from_region} to {self.to_region}"


@dataclass(frozen=True)
class Terms:
    """What AWS says of a link: the type in both regions, dollars per GB at the border, and what the border is."""

    facts: tuple[TypeFacts | None, TypeFacts | None]
    egress: Price
    internet: bool
    gateway_usd_per_gb: float = 0.0
    """What a transit gateway takes for a GB beside the egress."""


class LinkFigure(Document):
    """Contract `network-map`, `links`: MB/s of one relay pair, with everything that plans and people judge it by."""

    from_region: Region
    to_region: Region
    instance_type: InstanceType
    rate: Figure = Field(alias="rateMBps")
    """v_e as it is known. Of what bursts, `value` is what lasts."""
    counted: NonNegative = Field(alias="countedMBps")
    """What plans count on at first: the rate, or what is left of it where it is stale."""
    lasting: NonNegative = Field(alias="lastingMBps")
    """What plans count on after a burst; the same as `counted` where there is none."""
    receive: Figure = Field(alias="receiveMBps")
    """v_i: what a relay at the beginning of the link takes from a machine of its own region."""
    sigma: NonNegative = Field(alias="sigmaMBps")
    """Standard deviation of the samples; 0 where there are none, or one."""
    samples: Count
    last_sample_at: Annotated[float, Field(ge=0)] | None = None
    """Unix seconds; absent where nothing was measured."""
    is_stale: bool
    gain: Figure | None = Field(default=None, alias="pairGain")
    """What each pair after the first adds, in shares of the first; absent: nobody has measured it."""
    egress: Figure = Field(alias="egressUsdPerGB")

    @property
    def origin(self) -> Origin:
        """Who says what it carries at first."""
        return self.rate.burst.rate.origin if self.rate.burst else self.rate.origin

    def seen(self, rate: float) -> "LinkFigure":
        """The link as the transfer itself sees it now: so many MB/s of one relay pair."""
        known = Figure(value=rate, origin="measured", note="seen by this transfer")
        return self.model_copy(update={"rate": known, "counted": rate, "lasting": rate, "is_stale": False})

    def held_to(self, most: float) -> "LinkFigure":
        """The link as if it carried so many MB/s at most."""
        if self.counted <= most:
            return self
        rate = self.rate.scaled(most / self.counted, f"{self.rate.note}; not measured, as the direct link")
        return self.model_copy(update={"counted": most, "lasting": min(self.lasting, most), "rate": rate})

    def age_seconds(self, now: float) -> float | None:
        """Since the last sample; None where there is none. `now` in Unix seconds."""
        return None if self.last_sample_at is None else max(0.0, now - self.last_sample_at)


def link_figure(link: LinkKey, profile: Profile | None, terms: Terms, now: float) -> LinkFigure:
    """What a link carries and costs; `profile`: of its type on its regions, `now` in Unix seconds."""
    what = f"{link.instance_type} pairs, {link.words}"
    known = profile.known("interRegion") if profile else None
    rate = measured.figure(profile, "interRegion", what, next(filter(None, terms.facts), None)) or least(
        *(
            published_limits.outward(facts, link.instance_type, between_regions=True, internet=terms.internet)
            for facts in terms.facts
        )
    )
    at = known.at_seconds if known else None
    is_stale = at is not None and now - at > STALE_SECONDS
    share = _share(rate, known.sigma if known else 0.0) if is_stale else 1.0
    counted = rate.now * share
    # A published baseline does not grow old.
    lasting = min(counted, rate.value * (share if rate.origin == "measured" else 1.0))
    return LinkFigure(
        from_region=link.from_region,
        to_region=link.to_region,
        instance_type=link.instance_type,
        rate=rate,
        counted=counted,
        lasting=lasting,
        receive=measured.figure(profile, "intraRegion", f"to {link.instance_type} relays in {link.from_region}")
        or published_limits.in_all(terms.facts[0], link.instance_type),
        sigma=known.sigma if known else 0.0,
        samples=known.samples if known else 0,
        last_sample_at=at,
        is_stale=is_stale,
        gain=measured.gain(profile, what),
        egress=_egress(link, terms),
    )


def _share(rate: Figure, sigma: float) -> float:
    """What is left of a stale rate: one standard deviation less, yet no less than the rate's lower bound.

    Even samples that all agreed may be of a network that has changed since: σ counts as `LEAST_SPREAD` at least.
    """
    if not rate.now:
        return 1.0
    return max(1.0 - max(sigma / rate.now, LEAST_SPREAD), rate.least_now / rate.now)


def _egress(link: LinkKey, terms: Terms) -> Figure:
    figure = priced(terms.egress, f"per GB from {link.words}")
    if not terms.gateway_usd_per_gb:
        return figure
    note = f"{figure.note}, and {terms.gateway_usd_per_gb:g} for the transit gateway"
    return figure.model_copy(update={"value": figure.value + terms.gateway_usd_per_gb, "note": note})
