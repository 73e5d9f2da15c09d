"""What AWS publishes about how much a machine may move, MB/s; used until something was measured."""

from lambdas.core.estimate.figures import Figure
from lambdas.core.tariff.instance_types import MB_PER_GBIT, TypeFacts

INTERNET_GATEWAY_GBPS = 5.0
# From so many vCPUs on a machine may use half its bandwidth through an internet gateway.
MANY_VCPUS = 32
UNKNOWN_GBPS = 0.75
SPAWN_SECONDS = 90.0


def in_all(facts: TypeFacts | None, instance_type: str) -> Figure:
    """V: what a machine sends or receives in all. Burst credits last 5 to 60 minutes and are not counted on.

    A type that AWS does not describe counts like m5.large, the least of those without credits.
    """
    if facts is None:
        note = f"{instance_type}: not described by EC2; counted like m5.large, {UNKNOWN_GBPS:g} Gbps"
        return Figure(value=UNKNOWN_GBPS * MB_PER_GBIT, origin="assumed", note=note)
    burst = f" (up to {facts.peak_gbps:g} while credits last, not counted)" if facts.bursts else ""
    note = f"{instance_type}: baseline {facts.baseline_gbps:g} Gbps{burst}"
    return Figure(value=facts.network, origin="published", note=note)


def outward(facts: TypeFacts | None, instance_type: str, *, between_regions: bool, internet: bool) -> Figure:
    """v_e: what of it may leave the region; peering takes nothing away, an internet gateway does."""
    total = in_all(facts, instance_type)
    if not (between_regions and internet):
        return total
    gbps = total.value / MB_PER_GBIT
    many = facts is not None and facts.vcpus >= MANY_VCPUS
    allowed = max(INTERNET_GATEWAY_GBPS, gbps / 2) if many else INTERNET_GATEWAY_GBPS
    if gbps <= allowed:
        return total
    note = f"{instance_type}: an internet gateway passes {allowed:g} of its {gbps:g} Gbps"
    return Figure(value=allowed * MB_PER_GBIT, origin=total.origin, note=note)
