"""The choice of p among the rows of an estimate, and the reason in words."""

from math import ceil
from typing import Literal, NoReturn

from lambdas.core.errors import BudgetTooSmall, DeadlineUnreachable
from lambdas.core.estimate.budget import needed, within
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.rows import Row
from lambdas.core.models import LEAST_GAIN
from lambdas.core.request import Objective


def choose(
    rows: list[Row], requested: int | Literal["auto"], objective: Objective, figures: Figures, *, pre_test: bool
) -> tuple[int, str]:
    """p and the reason; `pre_test`: the rows pay for one. Raises BudgetTooSmall or DeadlineUnreachable."""
    if requested != "auto":
        asked = [row for row in rows if row.pairs <= requested]
        return _explicit(_allowed(asked, objective, figures, pre_test=pre_test), requested, objective)
    allowed = _allowed(rows, objective, figures, pre_test=pre_test)
    budget = "" if len(allowed) == len(rows) else f", within {objective.max_cost_usd} dollars"
    if objective.deadline_seconds is not None:
        return _by_deadline(allowed, objective.deadline_seconds, budget)
    direct, fastest = rows[0], _fastest(allowed)
    if not _helps(fastest, direct):
        if _helps(_fastest(rows), direct):
            return 0, f"no pair that helps fits into {objective.max_cost_usd} dollars; direct {direct.seconds:.0f} s"
        return (
            0,
            f"relays do not help{budget}: {rows[-1].limit}; best with relays {fastest.seconds:.0f} s, "
            f"direct {direct.seconds:.0f} s",
        )
    if objective.minimise == "time":
        return fastest.pairs, f"{_are(fastest.pairs, 'takes', 'take')} the least time, {fastest.seconds:.0f} s{budget}"
    if objective.max_cost_usd is not None and objective.minimise == "balanced":
        return (
            fastest.pairs,
            f"{_are(fastest.pairs)} the fastest{budget or ', and within budget'}: {fastest.seconds:.0f} s",
        )
    if objective.minimise == "cost":
        cheapest = min(allowed, key=lambda row: (row.cost_usd, row.seconds))
        return cheapest.pairs, f"{_are(cheapest.pairs, 'costs', 'cost')} the least, {cheapest.cost_usd:.4f} dollars"
    knee = _knee(allowed)
    return knee.pairs, (
        f"{_are(knee.pairs)} the knee: {knee.seconds:.0f} s against {direct.seconds:.0f} s direct "
        f"for {knee.cost_usd - direct.cost_usd:.4f} dollars more{budget}"
    )


def _fastest(rows: list[Row]) -> Row:
    return min(rows, key=lambda row: (row.seconds, row.pairs))


def _helps(row: Row, direct: Row) -> bool:
    return row.pairs > 0 and direct.seconds - row.seconds >= LEAST_GAIN * direct.seconds


def _explicit(allowed: list[Row], requested: int, objective: Objective) -> tuple[int, str]:
    row = allowed[-1]
    if objective.deadline_seconds is not None and row.seconds > objective.deadline_seconds:
        _refuse_deadline(allowed, objective.deadline_seconds)
    if row.pairs < requested:
        return (
            row.pairs,
            f"{_are(requested, 'was', 'were')} asked for; {row.pairs} fit into {objective.max_cost_usd} dollars",
        )
    return requested, f"{_are(requested, 'was', 'were')} asked for"


def _allowed(rows: list[Row], objective: Objective, figures: Figures, *, pre_test: bool) -> list[Row]:
    allowed = within(rows, objective.max_cost_usd, figures, pre_test=pre_test)
    if not allowed:
        cheapest = min(rows, key=lambda row: row.cost_usd)
        least = ceil(needed(cheapest, figures, pre_test=pre_test) * 1e4) / 1e4
        raise BudgetTooSmall(
            f"$.objective.maxCostUsd: {objective.max_cost_usd} is less than the cheapest choice needs, {least:.4f} "
            f"dollars with {cheapest.pairs} pairs; raise it to at least that"
        )
    return allowed


def _by_deadline(rows: list[Row], deadline: int, budget: str) -> tuple[int, str]:
    meeting = [row for row in rows if row.seconds <= deadline]
    if not meeting:
        _refuse_deadline(rows, deadline)
    best = min(meeting, key=lambda row: (row.cost_usd, row.seconds))
    return best.pairs, f"{_are(best.pairs)} the cheapest choice within {deadline} s: {best.seconds:.0f} s{budget}"


def _refuse_deadline(rows: list[Row], deadline: int) -> NoReturn:
    best = min(rows, key=lambda row: row.seconds)
    raise DeadlineUnreachable(
        f"$.objective.deadlineSeconds: {deadline} cannot be met; the best is {best.seconds:.0f} s "
        f"with {best.pairs} pairs ({best.limit}); give at least that, or more pairs or money"
    )


def _knee(rows: list[Row]) -> Row:
    """The row farthest above the straight line from the direct row to the fastest, in shares of time and money."""
    direct, fastest = rows[0], _fastest(rows)
    saved = direct.seconds - fastest.seconds
    spent = max(row.cost_usd for row in rows if row.pairs <= fastest.pairs) - direct.cost_usd

    def gain(row: Row) -> float:
        money = (row.cost_usd - direct.cost_usd) / spent if spent > 0 else 0.0
        return (direct.seconds - row.seconds) / saved - money

    # On a tie (time falls straight with money) more pairs: the user who wants fewer says cost.
    return max((row for row in rows if row.pairs <= fastest.pairs), key=lambda row: (round(gain(row), 9), row.pairs))


def _are(pairs: int, one: str = "is", more: str = "are") -> str:
    return f"{pairs} pair {one}" if pairs == 1 else f"{pairs} pairs {more}"
