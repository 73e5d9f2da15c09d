"""A profiling execution (thesis, Table 5.2): pairs of relays and the direct path are measured, and nothing is moved."""

from collections.abc import Iterable
from math import ceil
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document, InstanceType, Region
from lambdas.core.errors import BudgetTooSmall, NoSuitableType
from lambdas.core.estimate import pre_tests
from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.rows import Row
from lambdas.core.fleet.pairing import RelayPath
from lambdas.core.fleet.relay_node import Measurement, Node
from lambdas.core.tariff import control_plane, cost

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class MeasuredPair(Document):
    """One pair: MB/s, and seconds from asking for it until both its relays were ready (T_v)."""

    path_id: str
    inter_region: NonNegative = Field(alias="interRegionMBps")
    intra_region: NonNegative = Field(alias="intraRegionMBps")
    spawn_seconds: NonNegative


class MeasuredLink(Document):
    """From the relay of one region to that of another, MB/s; `error`: why it is 0."""

    from_region: Region
    to_region: Region
    instance_type: InstanceType | None = None
    """Of both relays; absent where these differ."""
    inter_region: NonNegative = Field(alias="interRegionMBps")
    error: str | None = None


class Measured(Document):
    """What a profiling execution found (contract `report`, `measured`); pairs best first.

    `links`: every one that a route through third regions could use; absent where only pairs were measured.

    `direct`: from the source machine to a relay in the destination's region, MB/s. `sent_bytes`: of all probes, out of
    the source's region.
    """

    direct: Positive = Field(alias="directMBps")
    pairs: list[MeasuredPair] = Field(min_length=1)
    links: list[MeasuredLink] | None = None
    sent_bytes: Count


def measured(direct: float, ranking: list[Measurement], pairs: list[RelayPath], probe_seconds: float) -> Measured:
    """`direct` and `ranking` of `pairs` in MB/s, each measured for `probe_seconds`."""
    by_slot = {pair.slot: pair for pair in pairs}
    rates = [direct, *(one.inter_region for one in ranking)]
    return Measured(
        direct=direct,
        pairs=[
            MeasuredPair(
                path_id=by_slot[one.slot].path_id,
                inter_region=one.inter_region,
                intra_region=one.intra_region,
                spawn_seconds=spawn_seconds(by_slot[one.slot].relays),
            )
            for one in ranking
        ],
        sent_bytes=round(sum(rates) * 1e6 * probe_seconds),
    )


def spawn_seconds(pair: Iterable[Node]) -> float:
    """From asking for the relays until all of them were ready."""
    return round(max((node.ready_at - node.requested_at for node in pair if node.ready_at is not None), default=0.0), 3)


def estimate_of_measuring(known: Estimate, probe_seconds: float, most_usd: float | None) -> Estimate:
    """The estimate of a profiling execution in place of that of the transfer, with a row per number of pairs to keep.

    Twice as many are launched and measured, each hop for `probe_seconds` at most. Raises NoSuitableType where no pair
    can be launched, BudgetTooSmall where one costs more than `most_usd`.
    """
    rows = [_row(row.pairs, known.figures, probe_seconds) for row in known.rows if row.pairs]
    if not rows:
        raise NoSuitableType(f"$.profile: measuring needs relays, and none can be launched: {known.reason}")
    first = rows[0]
    least = ceil(needed(first, known.figures) * 1e4) / 1e4
    if most_usd is not None and least > most_usd:
        raise BudgetTooSmall(
            f"$.objective.maxCostUsd: {most_usd} is less than measuring needs, {least:.4f} dollars; "
            "raise it to at least that"
        )
    reason = f"measures {2 * first.pairs} pairs and the direct path, and moves nothing"
    changes = {"bytes": 0, "rows": rows, "chosen_pairs": first.pairs, "pre_test": True, "reason": reason}
    return known.model_copy(update=changes)


def _row(pairs: int, figures: Figures, probe_seconds: float) -> Row:
    launched = pre_tests.TESTED * pairs
    # The pairs, then the direct path.
    seconds = figures.spawn.value + pre_tests.seconds(probe_seconds, launched) + probe_seconds
    direct = pre_tests.of_rates([figures.direct], probe_seconds, figures.sent_gb_usd(0))
    probes = pre_tests.of_pairs(pairs, figures, probe_seconds).beside(direct)
    dollars = control_plane.dollars(control_plane.calls(0, launched, seconds, figures.spawn.value))
    dollars += cost.relays(2 * launched, seconds, figures.relay_hour.value)
    return Row(
        pairs=pairs,
        pre_test=True,
        seconds=round(seconds, 3),
        speedup=1.0,
        cost_usd=round(dollars + probes.usd, 6),
        cost_usd_at_most=round(dollars + probes.most_usd, 6) if probes.most_usd > probes.usd else None,
        probes_usd_at_most=round(probes.most_usd, 6),
        limit=f"{launched} pairs are launched and measured",
    )
