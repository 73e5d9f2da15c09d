"""Which instance type the relays are to be: the best external throughput per dollar of those that help (4.3.1)."""

from dataclasses import dataclass
from math import inf

from pydantic import Field

from lambdas.core.documents import Document
from lambdas.core.estimate.data_time import seconds_for
from lambdas.core.estimate.figures import EndFigures, Figure, Figures, NonNegative
from lambdas.core.models.models import LEAST_GAIN

NEAR = 1e-9


@dataclass(frozen=True)
class Offer:
    """A type that relays may be; `most_pairs`: what quotas leave of it, `refusal`: why it cannot be launched at all.

    `hour` is the mean of `hours`, one for each stage of relays; `tail`: how much longer they live than data moves, s.
    """

    instance_type: str
    pair: Figure
    spread: Figure
    spawn: Figure
    hour: Figure
    most_pairs: int
    refusal: str = ""
    destination_type: str = ""
    """The type at the destination's side, where it is another one."""
    hours: tuple[Figure, ...] = ()
    sides: tuple[Figure, ...] = ()
    """What one relay of each side carries, where their numbers may differ as well as their types."""
    tail: Figure | None = None
    gain: Figure | None = None
    lanes: Figure | None = None
    published: Figure | None = None
    """The pair by what AWS publishes of its machines, where it was never measured and counts as the direct path."""
    at_least: Figure | None = None
    """What such pairs carried where full ends may have held them back; absent where none has served."""

    @property
    def name(self) -> str:
        """`c6in.large`, or `c6in.large with t3.small`."""
        return f"{self.instance_type} with {self.destination_type}" if self.destination_type else self.instance_type

    def carried(self, side: int) -> Figure:
        """What one relay of a side carries. What a transfer has shown of pairs holds both sides down alike."""
        if not self.sides:
            return self.pair
        slower = min(figure.now for figure in self.sides)
        share = self.pair.now / slower if slower else 1.0
        figure = self.sides[side]
        return figure if abs(share - 1) < NEAR else figure.scaled(share, f"{figure.note}; {share:.0%} of it, as a pair")

    @property
    def per_dollar(self) -> float:
        """MB/s for a dollar an hour, by the mean of both sides' prices; infinite where relays cost nothing.

        Where the numbers may differ, each side has as many relays as the other one feeds.
        """
        rates = [self.carried(side).now for side, _ in enumerate(self.sides)]
        if len(rates) < 2 or len(self.hours) != len(rates) or not all(rates):
            return self.pair.now / self.hour.value if self.hour.value else inf
        hours = sum(hour.value / rate for hour, rate in zip(self.hours, rates, strict=True))
        return len(rates) / hours if hours else inf

    def figures(self, ends: EndFigures) -> Figures:
        """`ends` with relays of this type."""
        return Figures(
            **{name: getattr(ends, name) for name in EndFigures.model_fields},
            pair=self.pair,
            pair_spread=self.spread,
            spawn=self.spawn,
            relay_hour=self.hour,
            relay_hours=list(self.hours) or None,
            relay_tail=self.tail,
            gain=self.gain,
            lanes=self.lanes,
        )


class Candidate(Document):
    """Contract `estimate`, `candidates`: a type, what a pair of it carries and costs, and whether it helps."""

    instance_type: str
    destination_type: str | None = None
    pair_mb_s: NonNegative = Field(alias="pairMBps")
    hour_usd: NonNegative
    suitable: bool
    reason: str

    @property
    def name(self) -> str:
        """`c6in.large`, or `c6in.large with t3.small`."""
        return f"{self.instance_type} with {self.destination_type}" if self.destination_type else self.instance_type

    @property
    def value(self) -> float:
        """MB/s per dollar and hour; what costs nothing comes first."""
        return self.pair_mb_s / self.hour_usd if self.hour_usd else float("inf")


def _types(one: "Offer | Candidate") -> tuple[str, str]:
    return one.instance_type, one.destination_type or one.instance_type


def offer_of(candidate: Candidate, offers: list[Offer]) -> Offer:
    """The offer that a candidate was made of."""
    return next(offer for offer in offers if _types(offer) == _types(candidate))


def rank(size_bytes: int, ends: EndFigures, offers: list[Offer], most_pairs: int) -> list[Candidate]:
    """Suitable types first, of them those that something is known of, then by throughput per dollar.

    One that was never measured counts as the direct path. That is no reason to take it instead of one that was measured
    and carries as much; those that not even EC2 describes come last.

    A type is suitable when it can be launched and relays of it, as many as are allowed, shorten the transfer by
    `LEAST_GAIN`. With zero wait that is the exact condition, in place of Table 5.5's "internal over 7 times external".
    """
    found = [_candidate(size_bytes, ends, offer, min(most_pairs, offer.most_pairs)) for offer in offers]
    unknown = {_types(offer): _unknown(offer) for offer in offers}
    most_known = max((one.pair_mb_s for one in found if one.suitable and not unknown[_types(one)]), default=0.0)

    def level(one: Candidate) -> int:
        found = unknown[_types(one)]
        return 0 if found == 1 and one.pair_mb_s * (1 - LEAST_GAIN) > most_known else found

    unequal = {_types(offer): offer.per_dollar for offer in offers if offer.sides}

    def order(one: Candidate) -> tuple[bool, int, float, float, tuple[str, str]]:
        value = unequal.get(_types(one), one.value)
        return (not one.suitable, level(one), -value, -one.pair_mb_s, _types(one))

    return sorted(found, key=order)


def _unknown(offer: Offer) -> int:
    """0 where relays of the type have served, or people have said what they carry; 1 where only EC2 has, 2 for none."""
    if offer.pair.origin == "assumed":
        return 2
    return int(offer.published is not None and offer.at_least is None)


def _candidate(size_bytes: int, ends: EndFigures, offer: Offer, pairs: int) -> Candidate:
    reason = offer.refusal or _use(size_bytes, ends, offer, pairs)
    # Over the whole transfer: a burst counts for as much as it lasts.
    rate = offer.pair.limit.mean(seconds_for(size_bytes, pairs, offer.figures(ends)))
    return Candidate(
        instance_type=offer.instance_type,
        destination_type=offer.destination_type or None,
        pair_mb_s=round(rate, 3),
        hour_usd=round(offer.hour.value, 6),
        suitable=reason == "",
        reason=reason or f"{rate / max(offer.hour.value, 1e-9):.0f} MB/s per dollar and hour",
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
    if figures.direct.now >= figures.ends:
        unknown = any(figure.is_open for figure in (figures.direct, *figures.of_ends.values()))
        who = "the end machines" if figures.store is None else "the machine"
        fills = f"is expected to fill {who}" if unknown else f"fills {who} already"
        return f"the direct path {fills} ({figures.ends:.1f} MB/s)"
    return f"{figures.route.words(pairs)} would save {direct - relayed:.0f} of {direct:.0f} s, too little"
