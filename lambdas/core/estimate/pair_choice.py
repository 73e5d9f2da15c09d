"""The choice of p among the rows of an estimate, and the reason in words."""

from math import ceil
from typing import Literal, NoReturn

from lambdas.core.errors import BudgetTooSmall, DeadlineUnreachable
from lambdas.core.estimate.budget import needed, within
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.preference import preference, worth
from lambdas.core.estimate.rows import Row
from lambdas.core.models import LEAST_GAIN
from lambdas.core.request import Objective
from lambdas.core.tariff import energy


def choose(
    rows: list[Row], requested: int | Literal["auto"], objective: Objective, figures: Figures
) -> tuple[int, str]:
    """p and the reason; raises BudgetTooSmall or DeadlineUnreachable."""
    if requested != "auto":
        asked = [row for row in rows if row.pairs <= requested]
        return _explicit(_allowed(asked, objective, figures), requested, objective)
    allowed = _allowed(rows, objective, figures)
    budget = "" if len(allowed) == len(rows) else f", within {objective.max_cost_usd} dollars"
    if objective.deadline_seconds is not None:
        return _by_deadline(allowed, objective.deadline_seconds, objective.confidence, budget)
    direct, fastest = rows[0], _fastest(allowed)
    if not _helps(fastest, direct):
        if _helps(_fastest(rows), direct):
            return 0, f"no pair that helps fits into {objective.max_cost_usd} dollars; direct {direct.seconds:.0f} s"
        return (
            0,
            f"relays do not help{budget}: {rows[-1].limit}; best with relays {fastest.seconds:.0f} s, "
            f"direct {direct.seconds:.0f} s",
        )
    best = min(allowed, key=lambda row: preference(row, objective))
    match objective.minimise:
        case "time":
            return best.pairs, f"{_are(best.pairs, 'takes', 'take')} the least time, {best.seconds:.0f} s{budget}"
        case "cost":
            return best.pairs, f"{_are(best.pairs, 'costs', 'cost')} the least, {best.cost_usd:.4f} dollars"
        case "energy":
            wh = f"{best.energy_wh or 0.0:.1f} Wh ({energy.ASSUMPTION})"
            return best.pairs, f"{_are(best.pairs, 'takes', 'take')} the least energy, {wh}{budget}"
        case "balanced":
            return best.pairs, _balance(best, fastest, direct, objective.value_of_time) + budget


def _balance(best: Row, fastest: Row, direct: Row, value: float) -> str:
    """Why `best`: against the direct path, or why not even the fastest."""
    shown = best if best.pairs else fastest
    saved, more = direct.seconds - shown.seconds, shown.cost_usd - direct.cost_usd
    value_saved = worth(saved, value)
    save = f"{_are(shown.pairs, 'saves', 'save')} {saved:.0f} of {direct.seconds:.0f} s, worth {_dollars(value_saved)}"
    if best.pairs:
        return f"at ${value:g} per hour, {save}, for {_dollars(more)} more"
    return f"the direct path: at ${value:g} per hour, {save}, for {_dollars(more)} more than it"


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}"


def _fastest(rows: list[Row]) -> Row:
    return min(rows, key=lambda row: (row.seconds, row.pairs))


def _helps(row: Row, direct: Row) -> bool:
    return row.pairs > 0 and direct.seconds - row.seconds >= LEAST_GAIN * direct.seconds


def _explicit(allowed: list[Row], requested: int, objective: Objective) -> tuple[int, str]:
    row = allowed[-1]
    if objective.deadline_seconds is not None and row.sure_seconds > objective.deadline_seconds:
        _refuse_deadline(allowed, objective.deadline_seconds, objective.confidence)
    if row.pairs < requested:
        return (
            row.pairs,
            f"{_are(requested, 'was', 'were')} asked for; {row.pairs} fit into {objective.max_cost_usd} dollars",
        )
    return requested, f"{_are(requested, 'was', 'were')} asked for"


def _allowed(rows: list[Row], objective: Objective, figures: Figures) -> list[Row]:
    allowed = within(rows, objective.max_cost_usd, figures)
    if not allowed:
        cheapest = min(rows, key=lambda row: row.cost_usd)
        least = ceil(needed(cheapest, figures) * 1e4) / 1e4
        raise BudgetTooSmall(
            f"$.objective.maxCostUsd: {objective.max_cost_usd} is less than the cheapest choice needs, {least:.4f} "
            f"dollars with {cheapest.pairs} pairs; raise it to at least that"
        )
    return allowed


def _by_deadline(rows: list[Row], deadline: int, confidence: float, budget: str) -> tuple[int, str]:
    meeting = [row for row in rows if row.sure_seconds <= deadline]
    if not meeting:
        _refuse_deadline(rows, deadline, confidence)
    best = min(meeting, key=lambda row: (row.cost_usd, row.seconds))
    return best.pairs, f"{_are(best.pairs)} the cheapest choice within {deadline} s: {_until(best, confidence)}{budget}"


def _refuse_deadline(rows: list[Row], deadline: int, confidence: float) -> NoReturn:
    best = min(rows, key=lambda row: row.sure_seconds)
    raise DeadlineUnreachable(
        f"$.objective.deadlineSeconds: {deadline} cannot be met; the best is {_until(best, confidence)} "
        f"with {best.pairs} pairs ({best.limit}); give at least {ceil(best.sure_seconds)}, or more pairs or money"
    )


def _until(row: Row, confidence: float) -> str:
    """When a row is done: its report with the confidence, or of figures that are given the data alone."""
    if row.whole_seconds is None:
        return f"{row.seconds:.0f} s"
    return (
        f"{row.sure_seconds:.0f} s with {100 * confidence:g} % confidence "
        f"({row.whole_seconds:.0f} s expected from start to report, {row.seconds:.0f} s of them for the data)"
    )


def _are(pairs: int, one: str = "is", more: str = "are") -> str:
    return f"{pairs} pair {one}" if pairs == 1 else f"{pairs} pairs {more}"
