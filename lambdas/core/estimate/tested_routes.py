"""Routes after their pre-test: which of them still pay by what was measured of each hop, and what links carry."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from lambdas.core.estimate import distcp
from lambdas.core.estimate.data_time import seconds_through
from lambdas.core.estimate.figures import Figure, Figures
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.estimate.rows import Row
from lambdas.core.estimate.ways import SideRate, Ways
from lambdas.core.fleet.relay_node import Node
from lambdas.core.models.zero_wait import Serving
from lambdas.core.request.request import Objective
from lambdas.core.tariff import cost, energy

Hops = Sequence[float]
"""MB/s of each hop between the relays of one path, in order."""


def measured(use: RouteUse, paths: Sequence[Hops]) -> RouteUse:
    """The route with the rate that its paths showed, MB/s; paths that could not be measured are left out.

    Where stages differ in size, relays of the larger one share the hop, and more of them carry more. Where the last
    relays send straight to the receiver, nobody has measured that, and the route carries no more than was planned.
    """
    hops = [sum(rates) for rates in zip(*paths, strict=True)]
    shared = [max(min(pair) / max(len(paths), 1), 1.0) for pair in pairwise(use.relays)]
    rate = min((rate * times for rate, times in zip(hops, shared, strict=False)), default=0.0)
    if not all(use.relays) and hops:
        rate = min(rate, use.rate.now)
    told = ", ".join(f"{rate:.1f}" for rate in hops) or "nothing"
    figure = Figure(value=rate, origin="measured", note=f"the pre-test: {told} MB/s hop by hop")
    return use.model_copy(update={"rate": figure})


def worth_keeping(
    size_bytes: int, uses: Sequence[RouteUse], figures: Figures, objective: Objective, elapsed_seconds: float
) -> list[RouteUse]:
    """The routes that the objective prefers for what is left, of relays that run already.

    `uses`: as measured; `elapsed_seconds`: since the transfer's start, which a deadline counts from. Every choice is
    judged. No two routes of a plan leave the source's region over the same border, so there are 9 at most, to 8 third
    regions and to the destination's: 512 choices, 30 ms.
    """
    left = objective
    if objective.deadline_seconds is not None:
        rest = max(round(objective.deadline_seconds - elapsed_seconds), 1)
        left = objective.model_copy(update={"deadline_seconds": rest})
    carrying = [use for use in uses if use.rate.now > 0]
    choices = [list(some) for count in range(len(carrying) + 1) for some in combinations(carrying, count)]
    of_rest = distcp.after(figures, elapsed_seconds)
    return min(choices, key=lambda some: preference(_row(size_bytes, some, figures), left, of_rest))


def told_by(ways: Ways, nodes: Iterable[Node], regions: Mapping[int, str]) -> Ways:
    """The borders as the pre-test saw them, the fastest relay at each; `regions`: of stages by index."""
    best: dict[tuple[str, str], float] = {}
    for node in nodes:
        pair = node.region, regions.get(node.stage + 1, "")
        if node.measured_hop is not None and pair in ways.borders:
            best[pair] = max(best.get(pair, 0.0), node.measured_hop)
    borders = dict(ways.borders)
    for pair, rate in best.items():
        seen = SideRate(Figure(value=rate, origin="measured", note="the pre-test of this transfer"), rate)
        borders[pair] = replace(borders[pair], sent=seen, received=seen)
    return replace(ways, borders=borders)


def _row(size_bytes: int, uses: Sequence[RouteUse], figures: Figures) -> Row:
    """What the rest takes and costs; what the relays have cost so far is spent in any case."""
    seconds = seconds_through(size_bytes, [Serving(use.rate.now) for use in uses], figures)
    return row_of(size_bytes, seconds, figures.direct.now, uses, figures)


def _gb_usd(use: RouteUse, figures: Figures) -> float:
    return use.usd_per_gb + use.pooled_share * figures.pool_gb_usd


def row_of(size_bytes: float, seconds: float, direct: float, uses: Sequence[RouteUse], figures: Figures) -> Row:
    """What bytes cost that take so long on the direct path, of `direct` MB/s, and on routes."""
    lived = seconds + figures.tail_seconds
    total = direct + sum(use.rate.now for use in uses)
    dollars = cost.egress(size_bytes * direct / total if total else 0.0, figures.gb_usd(0))
    for use in uses:
        dollars += sum(count * hour for count, hour in zip(use.paid, use.hours_usd, strict=True)) * lived / 3600
        dollars += cost.egress(size_bytes * use.rate.now / total, figures.sent_share * _gb_usd(use, figures))
    relays = sum(use.count for use in uses)
    return Row(
        pairs=len(uses),
        planned=list(uses),
        seconds=seconds,
        speedup=1.0,
        cost_usd=dollars,
        energy_wh=energy.watt_hours(2 * seconds + relays * lived),
        limit="",
    )
