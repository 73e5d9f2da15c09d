"""The rows of an estimate: what each number of pairs would take and cost, and what limits it."""

from math import ceil
from typing import Annotated

from pydantic import Field

from lambdas.core import models
from lambdas.core.chunks import plan
from lambdas.core.documents import Count, Document
from lambdas.core.estimate.figures import Figures
from lambdas.core.fleet.relay_counts import PAIRS, RelayCounts
from lambdas.core.tariff import control_plane, cost

NonNegative = Annotated[float, Field(ge=0)]


class Row(Document):
    """One choice of p: seconds of data time, dollars."""

    pairs: Count
    seconds: NonNegative
    speedup: NonNegative
    cost_usd: NonNegative
    limit: str


def seconds_for(size_bytes: int, pairs: int, figures: Figures, wait_seconds: float = 0.0, gain: float = 0.0) -> float:
    """Zero-wait data time; `wait_seconds`: the pre-test, after which the pairs join; `gain`: by how much more than the
    mean pair they then carry.
    """
    joins = figures.spawn.value + wait_seconds
    pair = models.Serving(figures.pair.value * (1 + gain), joins)
    paths = [models.Serving(figures.direct.value), *(pair for _ in range(pairs))]
    return models.zero_wait(size_bytes / 1e6, paths, figures.send, figures.receive)


def build_rows(
    size_bytes: int, most_pairs: int, figures: Figures, pre_test_seconds: float = 0.0, relay_counts: RelayCounts = PAIRS
) -> list[Row]:
    """p = 0..`most_pairs`; with `pre_test_seconds` > 0 the rows pay for a pre-test in time and money.

    A row pays for the relays that `relay_counts` has launched. It carries what its pairs do, whatever the larger side
    is.
    """
    direct = seconds_for(size_bytes, 0, figures)
    rows = []
    for pairs in range(most_pairs + 1):
        wait = pre_test_seconds if pairs else 0.0
        seconds = seconds_for(size_bytes, pairs, figures, wait)
        dollars = _control_plane(size_bytes, pairs, seconds, figures)
        launched, hour = relay_counts.launched(pairs), figures.relay_hour.value
        dollars += cost.relays(launched, seconds, hour) + cost.egress(size_bytes, figures.egress.value)
        if wait:
            more = relay_counts.launched(2 * pairs) - launched
            dollars += cost.relays(more, min(figures.spawn.value + wait, seconds), hour)
        rows.append(
            Row(
                pairs=pairs,
                seconds=round(seconds, 3),
                speedup=round(direct / seconds, 3) if seconds else 1.0,
                cost_usd=round(dollars, 6),
                limit=_limit(seconds, pairs, figures, wait),
            )
        )
    return rows


def _control_plane(size_bytes: int, pairs: int, seconds: float, figures: Figures) -> float:
    rate = max(figures.direct.value, figures.pair.value)
    lanes = plan.lanes_per_path(rate, size_bytes, files=1) * (1 + pairs)
    chunks = ceil(size_bytes / plan.chunk_size(size_bytes, lanes, None))
    return control_plane.dollars(control_plane.calls(chunks, pairs, seconds, figures.spawn.value))


def _limit(seconds: float, pairs: int, figures: Figures, wait: float) -> str:
    paths = figures.direct.value + pairs * figures.pair.value
    joins = figures.spawn.value + wait
    if pairs and seconds <= joins:
        return f"done before relays serve ({joins:.0f} s)"
    if paths < figures.ends:
        relayed = f" and {pairs} pair{'s' if pairs > 1 else ''} carry" if pairs else " carries"
        return f"the direct path{relayed} {paths:.1f} MB/s"
    if figures.send <= figures.receive:
        reads = figures.send < figures.source.value
        return (
            f"the source's disk reads at most {figures.send:.1f} MB/s"
            if reads
            else (f"the source machine sends at most {figures.send:.1f} MB/s")
        )
    writes = figures.receive < figures.destination.value
    return (
        f"the destination's disk writes at most {figures.receive:.1f} MB/s"
        if writes
        else (f"the destination machine receives at most {figures.receive:.1f} MB/s")
    )
