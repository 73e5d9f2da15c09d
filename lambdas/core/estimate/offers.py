"""From what was measured, configured, published or only assumed to the figures of one transfer."""

from collections.abc import Mapping
from dataclasses import dataclass

from lambdas.core.architecture import Architecture, architecture_of
from lambdas.core.errors import MissingPrice
from lambdas.core.estimate import published_limits
from lambdas.core.estimate.figures import LIMIT_NOTE, EndFigures, Figure, least, most
from lambdas.core.estimate.profile import Known, Metric, Profile
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import Market, Price, PriceBook
from lambdas.core.tariff.processor_credits import most_surplus_hour

# Pairs of the thesis differed by so much without a pre-test (Figures 6.3, 6.4): standard deviation over mean.
SPREAD = 0.15
SAMPLES_FOR_SPREAD = 3
UNLIMITED_PAIRS = 1_000


@dataclass(frozen=True)
class Side:
    """One region: what EC2 says of types there, vCPUs left (None: unknown), processors that have a daemon."""

    region: str
    zone: str
    facts: Mapping[str, TypeFacts]
    free_vcpus: int | None
    daemons: frozenset[str]


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

    def outward(self, side: Side, instance_type: str) -> Figure:
        """v_e as AWS publishes it."""
        facts = side.facts.get(instance_type)
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
) -> EndFigures:
    """V_src, V_dst and v_e of two machines of types `ends`.

    `machines`: what these two have shown, `profiles`: what types have shown; `limit_mbps`: the request's, Mbit/s.
    """
    what = "these two machines"
    direct = _of(machines, "direct", what) or least(
        *(
            _of(profiles[kind], "interRegion", kind) or terms.outward(side, kind)
            for side, kind in zip(terms.sides, ends, strict=True)
        )
    )
    seen = [figure for kind in relay_types if (figure := _of(profiles[kind], "intraRegion", f"to {kind} relays"))]
    # What was seen to pass is possible, whatever is published.
    possible = [figure for figure in (direct, *seen) if figure.origin == "measured"]
    limit = _of(machines, "ends", what)
    totals = [
        limit
        or most(
            _of(profiles[kind], "intraRegion", kind) or published_limits.in_all(side.facts.get(kind), kind),
            *possible,
        )
        for side, kind in zip(terms.sides, ends, strict=True)
    ]
    egress = terms.prices.egress_gb(terms.source.region, terms.destination.region)
    return EndFigures(
        source=_capped(totals[0], limit_mbps),
        destination=totals[1],
        direct=_capped(direct, limit_mbps),
        egress=_dollars(egress, f"per GB from {terms.source.region} to {terms.destination.region}"),
    )


def with_disks(ends: EndFigures, read_mb_s: float | None, write_mb_s: float | None) -> EndFigures:
    """`ends` with what the survey saw of the disks, MB/s."""

    def of(rate: float | None, what: str) -> Figure | None:
        return Figure(value=rate, origin="measured", note=f"{what}, 0.3 s in the survey") if rate else None

    return ends.model_copy(
        update={"source_disk": of(read_mb_s, "largest file"), "destination_disk": of(write_mb_s, "unnamed file")}
    )


def offer(terms: Terms, instance_type: str, profile: Profile | None) -> Offer:
    """What relays of the type would carry and cost."""
    pair = least(
        _of(profile, "interRegion", f"{instance_type} pairs")
        or least(*(terms.outward(side, instance_type) for side in terms.sides)),
        _of(profile, "intraRegion", f"to {instance_type} relays")
        or least(*(published_limits.in_all(side.facts.get(instance_type), instance_type) for side in terms.sides)),
    )
    spawn = _of(profile, "spawn", f"{instance_type} relays")
    refusal = _refusal(terms, instance_type)
    hour = Figure(value=0, origin="assumed", note=f"{instance_type}: no price")
    try:
        hour = _hour(terms, instance_type)
    except MissingPrice as error:
        refusal = refusal or str(error)
    return Offer(
        instance_type=instance_type,
        pair=pair,
        spread=_spread(profile),
        spawn=spawn
        or Figure(value=published_limits.SPAWN_SECONDS, origin="assumed", note="as the thesis' virtual machines"),
        hour=hour,
        most_pairs=_most_pairs(terms, instance_type),
        refusal=refusal,
    )


def _of(profile: Profile | None, metric: Metric, what: str) -> Figure | None:
    known = profile.known(metric) if profile else None
    return Figure(value=known.value, origin=known.origin, note=_note(what, known)) if known else None


def _note(what: str, known: Known) -> str:
    if known.origin == "configured":
        return what
    times = f"{known.samples} sample{'s' if known.samples > 1 else ''}"
    return f"{what}: {times}, standard deviation {known.sigma:.3g}"


def _spread(profile: Profile | None) -> Figure:
    known = profile.known("interRegion") if profile else None
    if known is None or known.samples < SAMPLES_FOR_SPREAD or known.value == 0:
        return Figure(value=SPREAD, origin="assumed", note="as the thesis' pairs")
    return Figure(value=known.sigma / known.value, origin="measured", note=f"{known.samples} samples")


def _capped(figure: Figure, limit_mbps: int | None) -> Figure:
    if limit_mbps is None or figure.value <= limit_mbps / 8:
        return figure
    return Figure(value=limit_mbps / 8, origin="configured", note=LIMIT_NOTE)


def _refusal(terms: Terms, instance_type: str) -> str:
    architecture: Architecture = architecture_of(instance_type)
    for side in terms.sides:
        facts = side.facts.get(instance_type)
        if facts is not None and side.zone not in facts.zones:
            return f"not offered in {side.zone}"
        if architecture not in side.daemons:
            return f"no daemon for {architecture} is deployed (make daemon-arm64)"
    return ""


def _most_pairs(terms: Terms, instance_type: str) -> int:
    """What the quotas leave; a pair within one region takes two relays of one quota."""
    each = 1 if terms.between_regions else 2
    room = [
        side.free_vcpus // (facts.vcpus * each)
        for side in terms.sides
        if side.free_vcpus is not None and (facts := side.facts.get(instance_type))
    ]
    return min(room, default=UNLIMITED_PAIRS)


def _hour(terms: Terms, instance_type: str) -> Figure:
    """Mean of the two regions, as the dissertation prices a pair; with the disk, and the public address if any."""
    instances = [terms.prices.instance_hour(instance_type, side.region, terms.market) for side in terms.sides]
    public = terms.internet and terms.between_regions
    total = sum(one.usd for one in instances)
    total += sum(terms.prices.beside_instance_hour(instance_type, side.region, public=public) for side in terms.sides)
    worst = next((price for price in instances if price.origin == "fallback"), instances[0])
    extras = "address, disk and processor credits" if most_surplus_hour(instance_type) else "address and disk"
    figure = _dollars(worst, f"{instance_type} {terms.market} with {extras}, mean of both regions")
    return figure.model_copy(update={"value": total / len(terms.sides)})


def _dollars(price: Price, what: str) -> Figure:
    if price.origin == "fallback":
        return Figure(value=price.usd, origin="assumed", note=f"{what}: embedded table")
    return Figure(value=price.usd, origin="published", note=f"{what}: {price.origin}")
