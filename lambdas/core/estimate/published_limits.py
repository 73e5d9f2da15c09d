"""What AWS publishes about how much a machine may move, MB/s; used until something was measured."""

from math import sqrt

from lambdas.core.estimate.figures import Burst, Figure
from lambdas.core.tariff.instance_types import MB_PER_GBIT, NETWORK_WEIGHTING, TypeFacts

INTERNET_GATEWAY_GBPS = 5.0
# From so many vCPUs on a machine may use half its bandwidth through an internet gateway.
MANY_VCPUS = 32
# A type that EC2 does not describe counts like m5.large, the least of those without credits; it may be a t3.micro, or
# have a network that the largest "up to" types have.
UNKNOWN_GBPS, LEAST_GBPS, MOST_GBPS = 0.75, 0.064, 50.0
SPAWN_SECONDS = 90.0
# AWS says "from 5 to 60 minutes, depending on the instance size", and not at which rate: counted at the one that is
# reached. Half an hour is what we expect.
SHORTEST_BURST_SECONDS = 5 * 60
USUAL_BURST_SECONDS = 30 * 60
LONGEST_BURST_SECONDS = 60 * 60


def in_all(facts: TypeFacts | None, instance_type: str, passed: Figure | None = None) -> Figure:
    """V: what a machine sends or receives in all; `passed`: the most that was seen to pass, which is a lower bound.

    The baseline lasts. What an "up to" type reaches while it has network credits lies between baseline and peak: the
    geometric mean is expected, since the bounds differ by up to 40 times.
    """
    seen = passed.value if passed else 0.0
    if facts is None:
        value = max(UNKNOWN_GBPS * MB_PER_GBIT, seen)
        note = f"{instance_type}: not described by EC2; counted like m5.large, {UNKNOWN_GBPS:g} Gbps"
        low, high = max(LEAST_GBPS * MB_PER_GBIT, seen), max(MOST_GBPS * MB_PER_GBIT, value)
        return Figure(value=value, low=low, high=high, origin="assumed", note=note)
    weighted = f" with bandwidth weighting {NETWORK_WEIGHTING}" if facts.is_weighted else ""
    note = f"{instance_type}: baseline {facts.baseline_gbps:.4g} Gbps{weighted}"
    if facts.bursts and facts.peak_gbps * MB_PER_GBIT > seen:
        low, high = max(facts.network, seen), facts.peak_gbps * MB_PER_GBIT
        reached = f"up to {facts.peak_gbps:g} Gbps while credits last"
        if passed and seen > facts.network:
            reached = f"{reached}; {seen:.4g} MB/s were seen to pass"
        rate = Figure(value=sqrt(low * high), low=low, high=high, origin="published", note=reached)
        burst = Burst(rate=rate, credit=credit(facts.network, rate))
        return Figure(value=facts.network, burst=burst, origin="published", note=note)
    if passed and seen > facts.network:
        return passed
    return Figure(value=facts.network, origin="published", note=note)


def credit(lasting_mb_s: float, rate: Figure, seen_mb: float = 0.0) -> Figure:
    """MB beyond the lasting rate that network credits let pass; `seen_mb`: so much was seen to pass."""
    low = max(seen_mb, SHORTEST_BURST_SECONDS * (rate.least - lasting_mb_s))
    value = max(low, USUAL_BURST_SECONDS * (rate.value - lasting_mb_s))
    high = max(value, LONGEST_BURST_SECONDS * (rate.greatest - lasting_mb_s))
    return Figure(
        value=value, low=low, high=high, origin="published", note="5 to 60 min of network credits, 30 expected"
    )


def outward(facts: TypeFacts | None, instance_type: str, *, between_regions: bool, internet: bool) -> Figure:
    """v_e: what of it may leave the region; peering takes nothing away, an internet gateway does."""
    total = in_all(facts, instance_type)
    if not (between_regions and internet):
        return total
    many = facts is not None and facts.vcpus >= MANY_VCPUS
    gbps = total.value / MB_PER_GBIT
    allowed = max(INTERNET_GATEWAY_GBPS, gbps / 2) if many else INTERNET_GATEWAY_GBPS
    if total.most <= allowed * MB_PER_GBIT:
        return total
    if gbps <= allowed:
        return capped(total, allowed * MB_PER_GBIT, f"an internet gateway passes {allowed:g} Gbps")
    note = f"{instance_type}: an internet gateway passes {allowed:g} of its {gbps:g} Gbps"
    return Figure(value=allowed * MB_PER_GBIT, origin=total.origin, note=note)


def capped(figure: Figure, mb_s: float, note: str) -> Figure:
    """The figure where at most `mb_s` pass, for the reason that `note` has."""
    if figure.value > mb_s:
        return Figure(value=mb_s, low=min(figure.least, mb_s), high=mb_s, origin="configured", note=note)
    burst, high = figure.burst, figure.high
    if burst and burst.rate.most > mb_s:
        bounds = {name: min(getattr(burst.rate, name), mb_s) for name in ("value", "least", "greatest")}
        rate = Figure(
            value=bounds["value"], low=bounds["least"], high=bounds["greatest"], origin=burst.rate.origin, note=note
        )
        burst = Burst(rate=rate, credit=burst.credit) if mb_s > figure.value else None
    return figure.model_copy(update={"high": None if high is None else min(high, mb_s), "burst": burst})
