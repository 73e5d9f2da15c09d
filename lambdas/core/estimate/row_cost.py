"""What a row of an estimate costs: relays, traffic and requests of the control plane, dollars."""

from collections.abc import Iterable, Sequence
from math import ceil

from lambdas.core.chunks import object_parts, plan
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.tariff import control_plane, cost

RELAYS_OF_PAIR = 2


def dollars(
    size_bytes: int, seconds: float, uses: Sequence[RouteUse], figures: Figures, tested_seconds: float
) -> tuple[float, float]:
    """Dollars for moving `size_bytes` in `seconds`, without what a pre-test's probes send: as expected, and as if all
    bytes took the dearest way.

    Relays are paid from their request until they are ended, some seconds after the data (Figures.relay_tail); those
    that a pre-test of `tested_seconds` gives back until that is over.
    """
    pairs = ceil(sum(use.count for use in uses) / RELAYS_OF_PAIR)
    total = control_plane_dollars(size_bytes, pairs, seconds, figures, sum(use.slots for use in uses))
    total += figures.requests.value if figures.requests else 0.0
    total += figures.restores.value if figures.restores else 0.0
    total += cost.egress(size_bytes, figures.sent_share * figures.file_systems_gb_usd)
    beyond = figures.restores.greatest - figures.restores.value if figures.restores else 0.0
    lived, tested = seconds + figures.tail_seconds, figures.spawn.value + tested_seconds
    for use in uses:
        launched = use.tested.paid if tested_seconds else use.paid
        for count, most, hour in zip(use.paid, launched, use.hours_usd, strict=True):
            total += cost.relays(count, lived, hour) + cost.relays(most - count, min(tested, lived), hour)
    direct = 1.0 - sum(use.share for use in uses)
    beside = max((use.beside_gb_usd(figures) for use in uses), default=figures.gb_usd(0))
    per_gb = direct * beside + sum(use.share * use.gb_usd(figures) for use in uses)
    dearest = cost.egress(size_bytes, dearest_gb_usd(uses, figures))
    return total + cost.egress(size_bytes, per_gb), total + beyond + dearest


def dearest_gb_usd(uses: Iterable[RouteUse], figures: Figures) -> float:
    """Dollars per GB that arrives by the dearest way: until the report nobody knows which way a byte took."""
    return max([figures.gb_usd(0), *(use.most_gb_usd(figures) for use in uses)])


def control_plane_dollars(size_bytes: int, pairs: int, seconds: float, figures: Figures, slots: int = 0) -> float:
    """Requests of the control plane for a transfer with as many relays as so many pairs have; `slots`: paths that these
    are at least, where a pair is one relay.
    """
    rate = max(figures.direct.now, figures.pair.now)
    entries = figures.entries or 1
    lanes = plan.lanes_per_path(rate, size_bytes, entries)
    # As between regions, where there are more.
    lanes = plan.lanes_to_plan_for(lanes, max(figures.machines or [1]) + max(pairs, slots), between_regions=True)
    usual = plan.chunk_size(size_bytes, lanes, None)
    # What becomes parts of objects has smaller ones.
    parts = ceil(size_bytes / (min(usual, object_parts.USUAL_BYTES) if figures.store else usual))
    chunks = max(parts, ceil(entries / plan.MAX_BUNDLE_ENTRIES))
    return control_plane.dollars(control_plane.calls(chunks, pairs, seconds, figures.spawn.value, entries))
