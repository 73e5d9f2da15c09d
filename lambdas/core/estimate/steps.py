"""Why not one row more and not one fewer: what the steps to the rows beside the chosen one save and cost, in words."""

from collections.abc import Sequence

from lambdas.core.estimate.budget import within
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.rows import Row
from lambdas.core.request.request import Objective
from lambdas.core.tariff.cost import worth
from lambdas.core.words import dollars, duration

# Shorter or cheaper by less is not said: neither is known so well.
LEAST_SECONDS, LEAST_USD = 0.05, 0.00005


def beside(rows: Sequence[Row], pairs: int, objective: Objective, figures: Figures) -> str:
    """`the 3rd pair saves 3.1 s ($0.0087) for $0.0030; a 4th would save 1.9 s ($0.0053) for $0.0061`; empty for one
    row.

    A step from the direct path is left out: the reason itself is about that one.
    """
    place = next(index for index, row in enumerate(rows) if row.pairs == pairs)
    told = []
    if place > 1:
        told.append(_last(rows[place - 1], rows[place], objective, figures.route))
    if place + 1 < len(rows):
        told.append(_next(rows[place], rows[place + 1], objective, figures))
    return "; ".join(told)


def _last(before: Row, chosen: Row, objective: Objective, route: PairRoute) -> str:
    """What is lost with fewer pairs."""
    deadline = objective.deadline_seconds
    if deadline is not None and before.sure_seconds > deadline:
        return f"{route.words(before.pairs)} may take {duration(before.sure_seconds)}, which is too late"
    step = _step(before, chosen, objective)
    if _is_one(before, chosen):
        return f"the {_ordinal(chosen.pairs)} {route.unit} saves {step}"
    return f"{route.unit}s {before.pairs + 1} to {chosen.pairs} save {step}"


def _next(chosen: Row, after: Row, objective: Objective, figures: Figures) -> str:
    """What would be won with more."""
    if not _is_one(chosen, after):
        who = figures.route.words(after.pairs)
    elif chosen.pairs:
        who = f"{_article(after.pairs)} {_ordinal(after.pairs)}"
    else:
        who = figures.route.words(1)
    if after not in within([after], objective.max_cost_usd, figures):
        return f"{who} would not fit into {objective.max_cost_usd} dollars"
    return f"{who} would save {_step(chosen, after, objective)}"


def _step(before: Row, after: Row, objective: Objective) -> str:
    """Seconds, what they are worth where that is weighed, and dollars or Wh more."""
    saved, more = before.seconds - after.seconds, after.cost_usd - before.cost_usd
    if saved <= LEAST_SECONDS:
        gain = "nothing"
    else:
        weighed = objective.minimise == "balanced" and objective.deadline_seconds is None
        gain = duration(saved) + (f" ({dollars(worth(saved, objective.value_of_time))})" if weighed else "")
    if objective.minimise == "energy" and before.energy_wh is not None and after.energy_wh is not None:
        energy = after.energy_wh - before.energy_wh
        return f"{gain} for {energy:.1f} Wh" if energy > 0 else f"{gain} and {-energy:.1f} Wh"
    if abs(more) <= LEAST_USD:
        return f"{gain} for next to no money"
    return f"{gain} for {dollars(more)}" if more > 0 else f"{gain} and {dollars(-more)}"


def _is_one(before: Row, after: Row) -> bool:
    return after.pairs == before.pairs + 1


def _article(number: int) -> str:
    return "an" if str(number).startswith("8") or number in (11, 18) else "a"


def _ordinal(number: int) -> str:
    """`1st`, `12th`, `23rd`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
