"""What it takes and costs to measure every link that routes could use: one relay in each region, and nothing moves."""

from collections.abc import Sequence
from math import ceil

from lambdas.core.errors import BudgetTooSmall, NoSuitableType
from lambdas.core.estimate import pre_tests
from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.estimate.rows import Row
from lambdas.core.estimate.ways import Ways
from lambdas.core.fleet.stations import Leg, rounds
from lambdas.core.fleet.topology import Stage
from lambdas.core.tariff import control_plane, cost


def launchable(stations: Sequence[Stage], ways: Ways) -> list[Stage]:
    """The stations whose region has the relays' type, and room for one of them in its quota."""
    return [one for one in stations if one.region in ways.hours and ways.most_in_region.get(one.region, 1) > 0]


def estimate_of_links(
    known: Estimate, ways: Ways, stations: Sequence[Stage], probe_seconds: float, most_usd: float | None
) -> Estimate:
    """The estimate of measuring links in place of that of the transfer; its one row has a relay in each region.

    Raises NoSuitableType where the ends' regions cannot have one, BudgetTooSmall where it costs more than `most_usd`.
    """
    there = launchable(stations, ways)
    left_out = [one.region for one in stations if one not in there]
    if stations[0] not in there or stations[1] not in there:
        raise NoSuitableType(f"$.profile: measuring needs a relay in each region, and none fits in {left_out[0]}")
    row = _row(known, ways, there, probe_seconds)
    least = ceil(needed(row, known.figures) * 1e4) / 1e4
    if most_usd is not None and least > most_usd:
        raise BudgetTooSmall(
            f"$.objective.maxCostUsd: {most_usd} is less than measuring needs, {least:.4f} dollars; "
            "raise it to at least that, or name fewer regions in $.relays.through"
        )
    legs = sum(map(len, rounds(there)))
    reason = f"measures {legs} links between {len(there)} regions and the direct path, and moves nothing"
    notes = [f"{region} is not measured: it has no room for a relay of this type" for region in left_out]
    changes = {"bytes": 0, "rows": [row], "chosen_pairs": 1, "pre_test": True, "reason": reason, "on_the_way": None}
    return known.model_copy(update={**changes, "undecided": None, "notes": [*known.notes, *notes]})


def _row(known: Estimate, ways: Ways, there: Sequence[Stage], probe_seconds: float) -> Row:
    turns = rounds(there)
    seconds = known.figures.spawn.value + (len(turns) + 1) * pre_tests.seconds(probe_seconds, 1)
    dollars = control_plane.dollars(control_plane.calls(0, len(there), seconds, known.figures.spawn.value))
    dollars += sum(cost.relays(1, seconds, ways.hours[one.region].value) for one in there)
    probes = pre_tests.of_rates([known.figures.direct], probe_seconds, known.figures.sent_gb_usd(0))
    for leg in (leg for legs in turns for leg in legs):
        border = ways.borders[leg.start.region, leg.end.region]
        probes = probes.beside(pre_tests.of_rates([border.sent.figure], probe_seconds, border.usd_per_gb))
    return Row(
        pairs=1,
        pre_test=True,
        planned=_uses(known, ways, there, [leg for legs in turns for leg in legs]),
        seconds=round(seconds, 3),
        speedup=1.0,
        cost_usd=round(dollars + probes.usd, 6),
        cost_usd_at_most=round(dollars + probes.most_usd, 6) if probes.most_usd > probes.usd else None,
        probes_usd_at_most=round(probes.most_usd, 6),
        limit=f"{len(there)} relays measure the links between them in {len(turns)} rounds",
    )


def _uses(known: Estimate, ways: Ways, there: Sequence[Stage], legs: Sequence[Leg]) -> list[RouteUse]:
    """Where relays are launched: the pair, and of each route through a third region the stage there alone."""
    source, destination, *third = there
    ends = [source.region, destination.region]

    def use(first: int, regions: list[str], relays: list[int], at: Sequence[Stage]) -> RouteUse:
        borders = [ways.borders[leg.start.region, leg.end.region].usd_per_gb for leg in legs if leg.start in at]
        hours = [ways.hours[region].value for region in regions]
        dearest = max(borders, default=0.0)
        return RouteUse(
            stage=first, regions=regions, relays=relays, rate=known.figures.pair, usd_per_gb=dearest, hours_usd=hours
        )

    pair = use(source.index, ends, [1, 1], [source])
    return [pair, *(use(one.index - 1, [ends[0], one.region, ends[1]], [0, 1, 0], [one]) for one in third)]
