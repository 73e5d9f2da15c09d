"""The choice of p among the rows of an estimate, and the reason in words."""

from math import ceil
from typing import Literal, NoReturn

from lambdas.core.errors import BudgetTooSmall, DeadlineUnreachable
from lambdas.core.estimate import distcp, first_contact
from lambdas.core.estimate.budget import needed, within
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.rows import Row
from lambdas.core.models.models import LEAST_GAIN
from lambdas.core.request.request import Objective
from lambdas.core.tariff import energy
from lambdas.core.tariff.cost import worth
from lambdas.core.words import dollars, dollars_more, duration


def choose(
    rows: list[Row], requested: int | Literal["auto"], objective: Objective, figures: Figures
) -> tuple[int, str]:
    """p and the reason; raises BudgetTooSmall or DeadlineUnreachable."""
    route = figures.route
    if requested != "auto":
        asked = [row for row in rows if row.pairs <= requested]
        return _explicit(_allowed(asked, objective, figures), requested, objective, figures)
    allowed = _allowed(rows, objective, figures)
    budget = "" if len(allowed) == len(rows) else f", within {objective.max_cost_usd} dollars"
    if objective.deadline_seconds is not None:
        return _by_deadline(allowed, objective.deadline_seconds, objective.confidence, figures, budget)
    if objective.minimise == "pairs":
        return _by_distcp(allowed, objective, figures, budget)
    direct, fastest = rows[0], _fastest(allowed)
    if not _helps(fastest, direct):
        if _helps(_fastest(rows), direct):
            return (
                0,
                f"no {route.unit} that helps fits into {objective.max_cost_usd} dollars; "
                f"direct {duration(direct.seconds)}",
            )
        return (
            0,
            f"relays do not help{budget}: {rows[-1].limit}; best with relays {duration(fastest.seconds)}, "
            f"direct {duration(direct.seconds)}",
        )
    best = min(allowed, key=lambda row: preference(row, objective, figures))
    match objective.minimise:
        case "time":
            return (
                best.pairs,
                f"{route.are(best.pairs, 'takes', 'take')} the least time, {duration(best.seconds)}{budget}",
            )
        case "cost":
            return best.pairs, f"{route.are(best.pairs, 'costs', 'cost')} the least, {dollars(best.cost_usd)}"
        case "energy":
            wh = f"{best.energy_wh or 0.0:.1f} Wh ({energy.ASSUMPTION})"
            return best.pairs, f"{route.are(best.pairs, 'takes', 'take')} the least energy, {wh}{budget}"
        case "balanced":
            return best.pairs, _balance(best, fastest, direct, objective.value_of_time, route) + budget


def _by_distcp(rows: list[Row], objective: Objective, figures: Figures, budget: str) -> tuple[int, str]:
    """The fewest pairs that take at most as long as DistCp (Figure 6.9), or the fastest row where none does."""
    route, best = figures.route, min(rows, key=lambda row: preference(row, objective, figures))
    most, taken = distcp.most_seconds(figures), duration(best.expected_seconds)
    if best.expected_seconds > most:
        who = route.are(best.pairs, "takes", "take") if best.pairs else "the direct path takes"
        fastest = f"{who} the least time, {taken}{budget}"
        return best.pairs, f"none takes at most as long as DistCp, {duration(most)}; {fastest}"
    if not best.pairs:
        return 0, f"no {route.unit} is needed: {taken} without, and DistCp takes {duration(most)}"
    fewest = route.are(best.pairs, "is the fewest that takes", "are the fewest that take")
    return best.pairs, f"{fewest} at most as long as DistCp: {taken}, and DistCp takes {duration(most)}{budget}"


def _balance(best: Row, fastest: Row, direct: Row, value: float, route: PairRoute) -> str:
    """Why `best`: against the direct path, or why not even the fastest."""
    shown = best if best.pairs else fastest
    saved, more = direct.seconds - shown.seconds, shown.cost_usd - direct.cost_usd
    value_saved = worth(saved, value)
    of = f"{duration(saved)} of {duration(direct.seconds)}"
    save = f"{route.are(shown.pairs, 'saves', 'save')} {of}, worth {dollars(value_saved)}"
    if best.pairs:
        return f"at ${value:g} per hour, {save}, for {dollars_more(more)}"
    return f"the direct path: at ${value:g} per hour, {save}, for {dollars_more(more)} than it"


def _fastest(rows: list[Row]) -> Row:
    return min(rows, key=lambda row: (row.seconds, row.pairs))


def _helps(row: Row, direct: Row) -> bool:
    return row.pairs > 0 and direct.seconds - row.seconds >= LEAST_GAIN * direct.seconds


def _explicit(allowed: list[Row], requested: int, objective: Objective, figures: Figures) -> tuple[int, str]:
    asked = f"{figures.route.are(requested, 'was', 'were')} asked for"
    row, unpromised = allowed[-1], ""
    if objective.deadline_seconds is not None and row.sure_seconds > objective.deadline_seconds:
        if not _may_meet(row, objective.deadline_seconds, figures):
            _refuse_deadline(allowed, objective.deadline_seconds, objective.confidence, figures)
        unpromised = f"; {objective.deadline_seconds} s cannot be promised"
    if row.pairs < requested:
        few = f"{asked}; {row.pairs} fit into {objective.max_cost_usd} dollars"
        return row.pairs, few + unpromised
    return requested, f"{asked}{unpromised}"


def _allowed(rows: list[Row], objective: Objective, figures: Figures) -> list[Row]:
    allowed = within(rows, objective.max_cost_usd, figures)
    if not allowed:
        cheapest = min(rows, key=lambda row: row.cost_usd)
        least = ceil(needed(cheapest, figures) * 1e4) / 1e4
        raise BudgetTooSmall(
            f"$.objective.maxCostUsd: {objective.max_cost_usd} is less than the cheapest choice needs, {least:.4f} "
            f"dollars with {figures.route.words(cheapest.pairs)}; raise it to at least that"
        )
    return allowed


def _by_deadline(rows: list[Row], deadline: int, confidence: float, figures: Figures, budget: str) -> tuple[int, str]:
    route = figures.route
    meeting = [row for row in rows if row.sure_seconds <= deadline]
    if meeting:
        best = min(meeting, key=lambda row: (row.cost_usd, row.seconds))
        are = f"{route.are(best.pairs)} the cheapest choice within {deadline} s"
        return best.pairs, f"{are}: {_until(best, confidence)}{budget}"
    possible = [row for row in rows if _may_meet(row, deadline, figures)]
    if not possible:
        _refuse_deadline(rows, deadline, confidence, figures)
    expected = [row for row in possible if row.expected_seconds <= deadline]
    if expected:
        best = min(expected, key=lambda row: (row.cost_usd, row.seconds))
        are = f"{route.are(best.pairs)} the cheapest choice that is expected within {deadline} s"
        are = f"{are}, which cannot be promised"
    else:
        best = min(possible, key=lambda row: (row.expected_seconds, row.pairs))
        are = f"{route.are(best.pairs, 'takes', 'take')} the least time; {deadline} s cannot be promised"
    return best.pairs, f"{are}{budget}"


def _at_best(row: Row) -> float:
    """The same with all figures at their better bounds."""
    return row.expected_seconds - (row.seconds - row.bounds[0])


def _may_meet(row: Row, deadline: int, figures: Figures) -> bool:
    """Whether a row that rests on what nobody has measured meets the deadline at best: the transfer will find out."""
    return _at_best(row) <= deadline and unknown(row, figures) is not None


def unknown(row: Row, figures: Figures) -> str | None:
    """What a row rests on that nobody has measured, in words; of routes each link is known or not by itself."""
    return first_contact.unmeasured(figures, sum(use.slots for use in row.uses(figures)))


def promise(row: Row, objective: Objective, figures: Figures) -> list[str]:
    """The note on a deadline that the chosen row does not surely meet: what can be said of it. None where it does."""
    deadline, why = objective.deadline_seconds, unknown(row, figures)
    if deadline is None or row.sure_seconds <= deadline or why is None:
        return []
    worst = row.expected_seconds + row.bounds[1] - row.seconds
    return [
        f"a deadline of {deadline} s cannot be promised, because {why}: {row.expected_seconds:.0f} s are expected from "
        f"start to report, {_at_best(row):.0f} s at best, {worst:.0f} s at worst"
    ]


def _refuse_deadline(rows: list[Row], deadline: int, confidence: float, figures: Figures) -> NoReturn:
    best, route = min(rows, key=lambda row: row.sure_seconds), figures.route
    least = min(_at_best(row) if unknown(row, figures) else row.sure_seconds for row in rows)
    raise DeadlineUnreachable(
        f"$.objective.deadlineSeconds: {deadline} cannot be met; the best is {_until(best, confidence)} "
        f"with {route.words(best.pairs)} ({best.limit}); give at least {ceil(least)}, or more "
        f"{route.unit}s or money"
    )


def _until(row: Row, confidence: float) -> str:
    """When a row is done: its report with the confidence, or of figures that are given the data alone."""
    if row.whole_seconds is None:
        return f"{row.seconds:.0f} s"
    return (
        f"{row.sure_seconds:.0f} s with {100 * confidence:g} % confidence "
        f"({row.whole_seconds:.0f} s expected from start to report, {row.seconds:.0f} s of them for the data)"
    )
