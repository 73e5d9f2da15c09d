"""Which instance type the relays are to be: the best external throughput per dollar of those that help (4.3.1)."""

from dataclasses import dataclass

from pydantic import Field

from lambdas.core.documents import Document
from lambdas.core.estimate.figures import EndFigures, Figure, Figures
from lambdas.core.estimate.rows import NonNegative, seconds_for
from lambdas.core.models import LEAST_GAIN


@dataclass(frozen=True)
class Offer:
    """A type that relays may be; `most_pairs`: what quotas leave of it, `refusal`: why it cannot be launched at all."""

    instance_type: str
    pair: Figure
    spread: Figure
    spawn: Figure
    hour: Figure
    most_pairs: int
    refusal: str = ""

    def figures(self, ends: EndFigures) -> Figures:
        """`ends` with relays of this type."""
        return Figures(
            source=ends.source,
            source_disk=ends.source_disk,
            destination=ends.destination,
            destination_disk=ends.destination_disk,
            direct=ends.direct,
            egress=ends.egress,
            pair=self.pair,
            pair_spread=self.spread,
            spawn=self.spawn,
            relay_hour=self.hour,
        )


class Candidate(Document):
    """Contract `estimate`, `candidates`: a type, what a pair of it carries and costs, and whether it helps."""

    instance_type: str
    pair_mb_s: NonNegative = Field(alias="pairMBps")
    hour_usd: NonNegative
    suitable: bool
    reason: str

    @property
    def value(self) -> float:
        """MB/s per dollar and hour; what costs nothing comes first."""
        return self.pair_mb_s / self.hour_usd if self.hour_usd else float("inf")


def rank(size_bytes: int, ends: EndFigures, offers: list[Offer], most_pairs: int) -> list[Candidate]:
    """Suitable types first, of them those that something is known of, then by throughput per dollar.

    A type is suitable when it can be launched and relays of it, as many as are allowed, shorten the transfer by
    `LEAST_GAIN`. With zero wait that is the exact condition, in place of Table 5.5's "internal over 7 times external".
    """
    found = [_candidate(size_bytes, ends, offer, min(most_pairs, offer.most_pairs)) for offer in offers]
    assumed = {offer.instance_type for offer in offers if offer.pair.origin == "assumed"}

    def order(one: Candidate) -> tuple[bool, bool, float, float, str]:
        return (not one.suitable, one.instance_type in assumed, -one.value, -one.pair_mb_s, one.instance_type)

    return sorted(found, key=order)


def _candidate(size_bytes: int, ends: EndFigures, offer: Offer, pairs: int) -> Candidate:
    reason = offer.refusal or _use(size_bytes, ends, offer, pairs)
    return Candidate(
        instance_type=offer.instance_type,
        pair_mb_s=round(offer.pair.value, 3),
        hour_usd=round(offer.hour.value, 6),
        suitable=reason == "",
        reason=reason or f"{offer.pair.value / max(offer.hour.value, 1e-9):.0f} MB/s per dollar and hour",
    )


def _use(size_bytes: int, ends: EndFigures, offer: Offer, pairs: int) -> str:
    """Why relays of the type would not help; empty when they do."""
    figures = offer.figures(ends)
    direct, relayed = seconds_for(size_bytes, 0, figures), seconds_for(size_bytes, pairs, figures)
    if pairs == 0:
        return "no relay is allowed: the quota of vCPUs is used up"
    if relayed <= direct * (1 - LEAST_GAIN):
        return ""
    if direct <= figures.spawn.value:
        return f"the direct path is done after {direct:.0f} s, before relays serve ({figures.spawn.value:.0f} s)"
    if figures.direct.value >= figures.ends:
        return f"the direct path fills the end machines already ({figures.ends:.1f} MB/s)"
    return f"{pairs} pair{'s' if pairs > 1 else ''} would save {direct - relayed:.0f} of {direct:.0f} s, too little"
