"""What a row of an estimate costs: relays, traffic and requests of the control plane, dollars."""

from math import ceil

from lambdas.core.chunks import plan
from lambdas.core.estimate.figures import Figures
from lambdas.core.fleet.relay_counts import RelayCounts
from lambdas.core.tariff import control_plane, cost


def dollars(
    size_bytes: int, pairs: int, seconds: float, figures: Figures, tested_seconds: float, relay_counts: RelayCounts
) -> float:
    """Dollars for moving `size_bytes` in `seconds` with `pairs` pairs, without what a pre-test's probes send.

    Relays are paid from their request until they are ended, some seconds after the data (Figures.relay_tail); with a
    pre-test, which takes `tested_seconds`, twice as many until that is over.
    """
    total = control_plane_dollars(size_bytes, pairs, seconds, figures) + cost.egress(size_bytes, figures.gb_usd(pairs))
    lived, tested = seconds + figures.tail_seconds, figures.spawn.value + tested_seconds
    launched = _by_stage(relay_counts, pairs)
    for stage, count in launched.items():
        total += cost.relays(count, lived, figures.hour_usd(stage))
    if pairs and tested_seconds:
        for stage, count in _by_stage(relay_counts, 2 * pairs).items():
            total += cost.relays(count - launched.get(stage, 0), min(tested, lived), figures.hour_usd(stage))
    return total


def _by_stage(relay_counts: RelayCounts, pairs: int) -> dict[int, int]:
    return {stage: len(slots) for stage, slots in relay_counts.to_launch(pairs).items()}


def control_plane_dollars(size_bytes: int, pairs: int, seconds: float, figures: Figures) -> float:
    """Requests of the control plane for a transfer with as many relays as so many pairs have."""
    rate = max(figures.direct.now, figures.pair.now)
    entries = figures.entries or 1
    lanes = plan.lanes_per_path(rate, size_bytes, entries)
    # As between regions, where there are more.
    lanes = plan.lanes_to_plan_for(lanes, 1 + pairs, between_regions=True)
    parts = ceil(size_bytes / plan.chunk_size(size_bytes, lanes, None))
    chunks = max(parts, ceil(entries / plan.MAX_BUNDLE_ENTRIES))
    return control_plane.dollars(control_plane.calls(chunks, pairs, seconds, figures.spawn.value, entries))
