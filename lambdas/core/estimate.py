"""The estimate: one row per number of pairs, the choice among them, and the reason in words."""

from typing import Annotated, Literal, NoReturn

from pydantic import Field

from lambdas.core import cost, models
from lambdas.core.documents import Count, Document
from lambdas.core.errors import BudgetTooSmall, DeadlineUnreachable
from lambdas.core.figures import Figures
from lambdas.core.request import Objective

DEFAULT_MOST_PAIRS = 8
# The thesis finds a pre-test worth its minute above 8 GB (6.1.3).
PRE_TEST_BYTES = 8_000_000_000
# Spread between runs of one transfer falls from 15 % to 5 % by choosing the better half (Figures 6.3, 6.4).
PRE_TEST_GAIN = 0.10
# Less than this is lost in the spread between two runs of the same transfer.
LEAST_GAIN = 0.05

NonNegative = Annotated[float, Field(ge=0)]


class Row(Document):
    """One choice of p: seconds of data time, dollars."""

    pairs: Count
    seconds: NonNegative
    speedup: NonNegative
    cost_usd: NonNegative
    limit: str


class FiguresDocument(Document):
    """`Figures` as the contract names them."""

    source: NonNegative = Field(alias="sourceMBps")
    destination: NonNegative = Field(alias="destinationMBps")
    direct: NonNegative = Field(alias="directMBps")
    pair: NonNegative = Field(alias="pairMBps")
    spawn_seconds: NonNegative
    relay_hour_usd: NonNegative
    egress_usd_per_gb: NonNegative = Field(alias="egressUsdPerGB")
    origin: Literal["measured", "configured", "assumed"]


class Estimate(Document):
    """Contract `estimate`."""

    schema_version: Literal[1] = 1
    bytes: Count
    rows: list[Row] = Field(min_length=1)
    chosen_pairs: Count
    pre_test: bool
    reason: str
    figures: FiguresDocument
    instance_type: str

    def row(self, pairs: int) -> Row:
        """The row of `pairs`; raises LookupError."""
        return next(row for row in self.rows if row.pairs == pairs)


def seconds_for(size_bytes: int, pairs: int, figures: Figures, wait_seconds: float = 0.0) -> float:
    """Zero-wait data time; `wait_seconds`: the pre-test, after which the pairs join."""
    joins = figures.spawn_seconds + wait_seconds
    paths = [models.Serving(figures.direct), *(models.Serving(figures.pair, joins) for _ in range(pairs))]
    return models.zero_wait(size_bytes / 1e6, paths, figures.source, figures.destination)


def build_rows(size_bytes: int, most_pairs: int, figures: Figures, pre_test_seconds: float = 0.0) -> list[Row]:
    """p = 0..`most_pairs`; with `pre_test_seconds` > 0 the rows pay for a pre-test in time and money."""
    direct = seconds_for(size_bytes, 0, figures)
    rows = []
    for pairs in range(most_pairs + 1):
        wait = pre_test_seconds if pairs else 0.0
        seconds = seconds_for(size_bytes, pairs, figures, wait)
        dollars = cost.transfer(size_bytes, pairs, seconds, figures.relay_hour_usd, figures.egress_usd_per_gb)
        if wait:
            dollars += cost.pre_test(pairs, figures.spawn_seconds + wait, figures.relay_hour_usd)
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


def _limit(seconds: float, pairs: int, figures: Figures, wait: float) -> str:
    paths = figures.direct + pairs * figures.pair
    if pairs and seconds <= figures.spawn_seconds + wait:
        return f"done before relays serve ({figures.spawn_seconds + wait:.0f} s)"
    if paths < min(figures.source, figures.destination):
        relayed = f" and {pairs} pair{'s' if pairs > 1 else ''} carry" if pairs else " carries"
        return f"the direct path{relayed} {paths:.1f} MB/s"
    if figures.source <= figures.destination:
        return f"the source machine sends at most {figures.source:.1f} MB/s"
    return f"the destination machine receives at most {figures.destination:.1f} MB/s"


def choose(rows: list[Row], requested: int | Literal["auto"], objective: Objective) -> tuple[int, str]:
    """p and the reason; raises BudgetTooSmall or DeadlineUnreachable."""
    if requested != "auto":
        return _explicit(rows, requested, objective)
    allowed = _within_budget(rows, objective.max_cost_usd)
    budget = "" if len(allowed) == len(rows) else f", within {objective.max_cost_usd} dollars"
    if objective.deadline_seconds is not None:
        return _by_deadline(allowed, objective.deadline_seconds, budget)
    direct, fastest = rows[0], min(allowed, key=lambda row: (row.seconds, row.pairs))
    if direct.seconds - fastest.seconds < LEAST_GAIN * direct.seconds or fastest.pairs == 0:
        return (
            0,
            f"relays do not help{budget}: {rows[-1].limit}; best with relays {fastest.seconds:.0f} s, "
            f"direct {direct.seconds:.0f} s",
        )
    if objective.minimise == "time":
        return fastest.pairs, f"{fastest.pairs} pairs take the least time, {fastest.seconds:.0f} s{budget}"
    if objective.minimise == "cost":
        cheapest = min(allowed, key=lambda row: (row.cost_usd, row.seconds))
        return cheapest.pairs, f"{cheapest.pairs} pairs cost the least, {cheapest.cost_usd:.4f} dollars"
    knee = _knee(allowed)
    return knee.pairs, (
        f"{knee.pairs} pairs are the knee: {knee.seconds:.0f} s against {direct.seconds:.0f} s direct "
        f"for {knee.cost_usd - direct.cost_usd:.4f} dollars more{budget}"
    )


def _explicit(rows: list[Row], requested: int, objective: Objective) -> tuple[int, str]:
    allowed = _within_budget([row for row in rows if row.pairs <= requested], objective.max_cost_usd)
    row = allowed[-1]
    if objective.deadline_seconds is not None and row.seconds > objective.deadline_seconds:
        _refuse_deadline(allowed, objective.deadline_seconds)
    if row.pairs < requested:
        return row.pairs, f"{requested} pairs were asked for; {row.pairs} fit into {objective.max_cost_usd} dollars"
    return requested, f"{requested} pairs were asked for"


def _within_budget(rows: list[Row], most_usd: float | None) -> list[Row]:
    if most_usd is None:
        return rows
    allowed = [row for row in rows if row.cost_usd <= most_usd]
    if not allowed:
        cheapest = min(rows, key=lambda row: row.cost_usd)
        raise BudgetTooSmall(
            f"$.objective.maxCostUsd: {most_usd} is less than the cheapest choice, {cheapest.cost_usd:.4f} dollars "
            f"with {cheapest.pairs} pairs; raise it to at least that"
        )
    return allowed


def _by_deadline(rows: list[Row], deadline: int, budget: str) -> tuple[int, str]:
    meeting = [row for row in rows if row.seconds <= deadline]
    if not meeting:
        _refuse_deadline(rows, deadline)
    best = min(meeting, key=lambda row: (row.cost_usd, row.seconds))
    return best.pairs, f"{best.pairs} pairs are the cheapest that meet {deadline} s: {best.seconds:.0f} s{budget}"


def _refuse_deadline(rows: list[Row], deadline: int) -> NoReturn:
    best = min(rows, key=lambda row: row.seconds)
    raise DeadlineUnreachable(
        f"$.objective.deadlineSeconds: {deadline} cannot be met; the best is {best.seconds:.0f} s "
        f"with {best.pairs} pairs ({best.limit}); give at least that, or more pairs or money"
    )


def _knee(rows: list[Row]) -> Row:
    """The row farthest above the straight line from the direct row to the fastest, in shares of time and money."""
    direct, fastest = rows[0], min(rows, key=lambda row: (row.seconds, row.pairs))
    saved = direct.seconds - fastest.seconds
    spent = max(row.cost_usd for row in rows if row.pairs <= fastest.pairs) - direct.cost_usd

    def gain(row: Row) -> float:
        money = (row.cost_usd - direct.cost_usd) / spent if spent > 0 else 0.0
        return (direct.seconds - row.seconds) / saved - money

    # On a tie (time falls straight with money) more pairs: the user who wants fewer says cost.
    return max((row for row in rows if row.pairs <= fastest.pairs), key=lambda row: (round(gain(row), 9), row.pairs))


def wants_pre_test(requested: bool | Literal["auto"], row: Row, size_bytes: int, pre_test_seconds: float) -> bool:
    """Whether 2p relays are spawned and measured; auto: long transfers whose expected gain exceeds the test."""
    if row.pairs == 0:
        return False
    if requested != "auto":
        return requested
    return size_bytes > PRE_TEST_BYTES and row.seconds * PRE_TEST_GAIN > pre_test_seconds


def estimate(
    size_bytes: int,
    figures: Figures,
    *,
    requested: int | Literal["auto"],
    pre_test: bool | Literal["auto"],
    objective: Objective,
    most_pairs: int,
    pre_test_seconds: float,
    instance_type: str,
) -> Estimate:
    """The whole estimate; `most_pairs`: the deployment's limit, `pre_test_seconds`: both hops of one pre-test."""
    most = min(most_pairs, max(DEFAULT_MOST_PAIRS, requested if requested != "auto" else 0))
    rows = build_rows(size_bytes, most, figures, pre_test_seconds if pre_test is True else 0.0)
    pairs, reason = choose(rows, requested, objective)
    tested = wants_pre_test(pre_test, rows[pairs], size_bytes, pre_test_seconds)
    return Estimate(
        bytes=size_bytes,
        rows=rows,
        chosen_pairs=pairs,
        pre_test=tested,
        reason=reason,
        figures=FiguresDocument(**vars(figures)),
        instance_type=instance_type,
    )
