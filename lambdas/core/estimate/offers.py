"""From what was measured, configured, published or only assumed to the figures of one transfer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeGuard

from lambdas.core.architecture import Architecture, architecture_of
from lambdas.core.errors import MissingPrice
from lambdas.core.estimate import measured, published_limits, unmeasured
from lambdas.core.estimate.figures import LIMIT_NOTE, EndFigures, Figure, least, most
from lambdas.core.estimate.profile import Profile
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.request.bandwidth import MBIT_PER_MB
from lambdas.core.tariff.instance_types import NETWORK_WEIGHTING, WEIGHTED, TypeFacts
from lambdas.core.tariff.prices import Market, Price, PriceBook
from lambdas.core.tariff.processor_credits import most_surplus_hour

# Pairs of the thesis differed by so much without a pre-test (Figures 6.3, 6.4): standard deviation over mean.
SPREAD = 0.15
SAMPLES_FOR_SPREAD = 3
UNLIMITED_PAIRS = 1_000
# docs/design/008: the sender doubles a path's lanes until they are enough.
LANES = Figure(value=2, low=1, high=4, origin="assumed", note="doubled never, once or twice, by the round trip")
# Both relays of a pair interrupted once an hour, each replaced after T_v = 90 s. AWS' advisor has bands up to "more
# than 20 % a month", which would make one part in 70 000: so it widens the range, and the expected time stays.
SPOT_LOSS = 2 * 90 / 3600
# Until it is learnt. Relays are asked for about when the first byte leaves. After the last one the ends compare what
# they have (1 s), an event is delivered, the execution goes on, and a function that may be cold (2 s) ends the relays.
TAIL_SECONDS = 5.0


@dataclass(frozen=True)
class Side:
    """One region: what EC2 says of types there, vCPUs left (None: unknown), processors that have a daemon."""

    region: str
    zone: str
    facts: Mapping[str, TypeFacts]
    free_vcpus: int | None
    daemons: frozenset[str]

    def relay_facts(self, instance_type: str) -> TypeFacts | None:
        """Of a type as relays are launched."""
        facts = self.facts.get(instance_type)
        return facts and facts.as_relay


@dataclass(frozen=True)
class Terms:
    """What relays are offered on: both sides, and what is between them; `now` in Unix seconds."""

    source: Side
    destination: Side
    internet: bool
    prices: PriceBook
    market: Market
    now: float

    @property
    def between_regions(self) -> bool:
        """Whether the data leaves its region."""
        return self.source.region != self.destination.region

    @property
    def sides(self) -> tuple[Side, Side]:
        """Source, destination."""
        return self.source, self.destination

    def outward(self, side: Side, instance_type: str, *, relay: bool = False) -> Figure:
        """v_e as AWS publishes it, of an end or of a relay."""
        facts = side.relay_facts(instance_type) if relay else side.facts.get(instance_type)
        return published_limits.outward(
            facts, instance_type, between_regions=self.between_regions, internet=self.internet
        )


def end_figures(
    terms: Terms,
    ends: tuple[str, str],
    machines: Profile | None,
    profiles: Mapping[str, Profile | None],
    relay_types: list[str],
    limit_mbps: int | None,
    other_paths: Sequence[Figure] = (),
) -> EndFigures:
    """V_src, V_dst and v_e of two machines of types `ends`.

    `machines`: what these two have shown, `profiles`: what types have shown; `limit_mbps`: the request's, Mbit/s;
    `other_paths`: what is known of any path between regions, MB/s.
    """
    what = "these two machines"
    kinds = list(zip(terms.sides, ends, strict=True))
    published = [terms.outward(side, kind) for side, kind in kinds]
    slower = min(kinds, key=lambda one: _lasting(one[0], one[1]))
    paths = [measured.figure(profiles[kind], "interRegion", f"{kind} pairs") for kind in relay_types]
    others = [one for one in (*paths, *other_paths) if one]
    direct = measured.figure(machines, "direct", what, slower[0].facts.get(slower[1])) or least(
        *(
            _of_end(measured.figure(profiles[kind], "interRegion", kind, side.facts.get(kind)), side.facts.get(kind))
            or (unmeasured.path(outward, others) if terms.between_regions else outward)
            for (side, kind), outward in zip(kinds, published, strict=True)
        )
    )
    through = [measured.figure(profiles[kind], "intraRegion", f"to {kind} relays") for kind in relay_types]
    through.append(measured.figure(machines, "endsAtLeast", "all paths of these two machines"))
    # What was seen to pass is possible, whatever is published: a lower bound.
    passed = [Figure(value=one.now, origin="measured", note=one.note) for one in (direct, *through) if _is_seen(one)]
    most_passed = most(*passed) if passed else None
    totals = []
    for side, kind in kinds:
        facts = side.facts.get(kind)
        in_all = published_limits.in_all(facts, kind, most_passed)
        totals.append(
            measured.ends(machines, what, facts)
            or measured.fallen(machines, "ends", what, in_all)
            or _of_end(measured.figure(profiles[kind], "intraRegion", kind), facts)
            or unmeasured.ends(machines, in_all)
        )
    egress = terms.prices.egress_gb(terms.source.region, terms.destination.region)
    return EndFigures(
        source=_capped(totals[0], limit_mbps),
        destination=totals[1],
        direct=_capped(direct, limit_mbps),
        egress=priced(egress, f"per GB from {terms.source.region} to {terms.destination.region}"),
        repeated=measured.repeated(machines, what),
    )


def _of_end(figure: Figure | None, facts: TypeFacts | None) -> Figure | None:
    """What relays of its type have shown of an end, whose network may have no part of what its disks may move.

    Relays of before the weighting have shown what an end has: that remains possible, and is not expected.
    """
    if figure is None or facts is None or not facts.takes_weighting:
        return figure
    note = f"{figure.note}, with bandwidth weighting {NETWORK_WEIGHTING}"
    return figure.scaled(1 / WEIGHTED, note).model_copy(update={"high": figure.greatest})


def _lasting(side: Side, instance_type: str) -> float:
    facts = side.facts.get(instance_type)
    return facts.network if facts and facts.bursts else inf


def _is_seen(figure: Figure | None) -> TypeGuard[Figure]:
    return figure is not None and "measured" in (figure.origin, figure.burst.rate.origin if figure.burst else None)


def offer(
    terms: Terms,
    instance_type: str,
    profile: Profile | None,
    stages: Sequence[int] = (0, 1),
    beside: EndFigures | None = None,
) -> Offer:
    """What relays of the type would carry and cost; `stages`: the sides that have it, where not both do.

    `beside`: the ends, whose direct path tells what to expect of relays that were never measured.
    """
    sides = [terms.sides[stage] for stage in stages]
    pair, published, at_least = _pair(terms, sides, instance_type, profile, beside)
    if terms.market == "spot":
        pair = pair.model_copy(update={"low": pair.least * (1 - SPOT_LOSS)})
    spawn = measured.figure(profile, "spawn", f"{instance_type} relays")
    refusal = _refusal(sides, instance_type)
    hour = Figure(value=0, origin="assumed", note=f"{instance_type}: no price")
    hours: tuple[Figure, ...] = ()
    try:
        hour, hours = _hour(terms, sides, instance_type)
    except MissingPrice as error:
        refusal = refusal or str(error)
    return Offer(
        instance_type=instance_type,
        pair=pair,
        spread=_spread(profile),
        spawn=spawn
        or Figure(value=published_limits.SPAWN_SECONDS, origin="assumed", note="as the thesis' virtual machines"),
        hour=hour,
        most_pairs=_most_pairs(terms, sides, instance_type),
        refusal=refusal,
        hours=hours,
        gain=measured.gain(profile, f"{instance_type} pairs"),
        lanes=LANES,
        published=published,
        at_least=at_least,
        tail=measured.figure(profile, "tail", f"{instance_type} relays")
        or Figure(value=TAIL_SECONDS, origin="assumed", note="of relays, before and after the data"),
    )


def _pair(
    terms: Terms, sides: list[Side], instance_type: str, profile: Profile | None, beside: EndFigures | None
) -> tuple[Figure, Figure | None, Figure | None]:
    """What a pair carries; where it was never measured also what is published of it, and its lower bound if there is
    one.
    """
    what = f"{instance_type} {beside.route.unit if beside else 'pair'}s"
    known = [side.relay_facts(instance_type) for side in sides]
    inside = measured.figure(profile, "intraRegion", f"to {instance_type} relays") or least(
        *(published_limits.in_all(facts, instance_type) for facts in known)
    )
    if seen := measured.figure(profile, "interRegion", what, next(filter(None, known), None)):
        return least(seen, inside), None, None
    published = least(*(terms.outward(side, instance_type, relay=True) for side in sides))
    at_least = measured.figure(profile, "interRegionAtLeast", what)
    expected = published
    if beside and terms.between_regions:
        expected = unmeasured.pair(published, beside.direct, at_least)
    expected = measured.fallen(profile, "interRegion", what, expected) or expected
    return least(expected, inside), least(published, inside), at_least


def _spread(profile: Profile | None) -> Figure:
    known = profile.known("interRegion") if profile else None
    count = (known.measurements or known.samples) if known else 0
    if known is None or count < SAMPLES_FOR_SPREAD or known.value == 0:
        return Figure(value=SPREAD, origin="assumed", note="as the thesis' pairs")
    return Figure(value=known.sigma / known.value, origin="measured", note=f"{count} pairs")


def with_limit(ends: EndFigures, limit_mbps: int | None) -> EndFigures:
    """`ends` of which no more leaves the source, and nothing more goes the direct way, than the request lets pass."""
    return ends.model_copy(
        update={"source": _capped(ends.source, limit_mbps), "direct": _capped(ends.direct, limit_mbps)}
    )


def _capped(figure: Figure, limit_mbps: int | None) -> Figure:
    return figure if limit_mbps is None else published_limits.capped(figure, limit_mbps / MBIT_PER_MB, LIMIT_NOTE)


def _refusal(sides: list[Side], instance_type: str) -> str:
    architecture: Architecture = architecture_of(instance_type)
    for side in sides:
        facts = side.facts.get(instance_type)
        if facts is not None and side.zone not in facts.zones:
            return f"not offered in {side.zone}"
        if architecture not in side.daemons:
            return f"no daemon for {architecture} is deployed (make daemon-arm64)"
    return ""


def _most_pairs(terms: Terms, sides: list[Side], instance_type: str) -> int:
    """What the quotas leave; a pair within one region takes two relays of one quota."""
    each = 1 if terms.between_regions else 2
    room = [
        side.free_vcpus // (facts.vcpus * each)
        for side in sides
        if side.free_vcpus is not None and (facts := side.facts.get(instance_type))
    ]
    return min(room, default=UNLIMITED_PAIRS)


def _hour(terms: Terms, sides: list[Side], instance_type: str) -> tuple[Figure, tuple[Figure, ...]]:
    """Mean of the two regions, as the dissertation prices a pair, and each; with disk, credits and address, if any."""
    instances = [terms.prices.instance_hour(instance_type, side.region, terms.market) for side in sides]
    public = terms.internet and terms.between_regions
    extras = "address, disk and processor credits" if most_surplus_hour(instance_type) else "address and disk"
    what = f"{instance_type} {terms.market} with {extras}"
    hours = []
    for price, side in zip(instances, sides, strict=True):
        beside = terms.prices.beside_instance_hour(instance_type, side.region, public=public)
        figure = priced(price, f"{what}, {side.region}")
        hours.append(figure.model_copy(update={"value": price.usd + beside}))
    worst = next((price for price in instances if price.origin == "fallback"), instances[0])
    mean = sum(hour.value for hour in hours) / len(hours)
    where = "mean of both regions" if len(sides) > 1 else sides[0].region
    return priced(worst, f"{what}, {where}").model_copy(update={"value": mean}), tuple(hours)


def priced(price: Price, what: str) -> Figure:
    """A price as a figure of `what`."""
    if price.origin == "fallback":
        return Figure(value=price.usd, origin="assumed", note=f"{what}: embedded table")
    return Figure(value=price.usd, origin="published", note=f"{what}: {price.origin}")
