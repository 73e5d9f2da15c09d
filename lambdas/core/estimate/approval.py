"""Approval: what a person may answer, the row that they take, and the letter that asks them."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from lambdas.core.documents import Count, Document, TransferId
from lambdas.core.errors import InvalidApproval
from lambdas.core.estimate.budget import within
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.rows import Row
from lambdas.core.request.problems import describe
from lambdas.core.request.request import TransferRequest
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.words import dollars, duration, size


class Approval(Document):
    """Contract `approval`: the output that releases the task token of Await Approval."""

    pairs: Count

    @classmethod
    def read(cls, answer: object) -> "Approval":
        """Whatever a person sent; raises InvalidApproval."""
        try:
            return cls.from_document(answer)
        except ValidationError as error:
            raise InvalidApproval(f'{"; ".join(describe(error))}; the answer is of the form {{"pairs": 3}}') from None


class ApprovalDecision(Document):
    """Contract `approval-decision`: input of Decide Approval; without `pairs` the recommended row is taken."""

    transfer_id: TransferId
    decision: Literal["approve", "reject"]
    pairs: Count | None = None
    reason: Annotated[str, Field(max_length=1000)] | None = None


# Spot prices, quotas and what profiles know change within a day; a deadline counts from the start.
STALE_SECONDS = 3600.0
# An estimate is not better than that (bench/estimate).
DEARER = 1.1


def take_row(estimate: Estimate, pairs: int, request: TransferRequest) -> Estimate:
    """The estimate with the row of `pairs` chosen; raises InvalidApproval for no row, or one above the budget."""
    row = next((row for row in estimate.rows if row.pairs == pairs), None)
    if row is None:
        raise InvalidApproval(f"$.pairs: {pairs} is not a row of the estimate; give one of {_named(estimate.rows)}")
    most = request.objective.max_cost_usd
    borne = within(estimate.rows, most, estimate.figures)
    if row not in borne:
        raise InvalidApproval(
            f"$.pairs: {pairs} pairs cost {row.cost_usd:.4f} dollars, with what the meter holds back more than "
            f"$.objective.maxCostUsd, {most}; give one of {_named(borne)}, or start again with a larger budget"
        )
    reason = f"approved by person: {pairs} pairs"
    changes = {"chosen_pairs": pairs, "pre_test": row.pre_test, "reason": reason, "on_the_way": None}
    return estimate.model_copy(update=changes)


def as_approved(
    fresh: Estimate, approved: Estimate, pairs: int, age_seconds: float, request: TransferRequest
) -> Estimate:
    """The row of `pairs` of an estimate made again, since the one that a person saw is `age_seconds` old.

    The reason says what has changed. Raises InvalidApproval for a row that is missing now, above the budget, too late
    for the deadline, or a tenth dearer than what was approved.
    """
    take_row(approved, pairs, request)
    found = take_row(fresh, pairs, request)
    was, row = approved.row(pairs), found.chosen
    old = f"the estimate was {duration(age_seconds)} old"
    now = f"{pairs} pairs cost {row.cost_usd:.4f} dollars and take {duration(row.seconds)} now"
    then = f"{was.cost_usd:.4f} dollars and {duration(was.seconds)} when it was made"
    if row.cost_usd > DEARER * was.cost_usd:
        raise InvalidApproval(f"$.pairs: {old}: {now}, {then}; start again to approve that")
    deadline = request.objective.deadline_seconds
    if deadline is not None and was.sure_seconds <= deadline < row.sure_seconds:
        raise InvalidApproval(
            f"$.pairs: {old}: {now}, {then}; $.objective.deadlineSeconds, {deadline}, is out of reach; approve another "
            "row the next time, or start with a later one"
        )
    return found.model_copy(update={"reason": f"{found.reason}; {old}: {now}, {then}"})


def _named(rows: list[Row]) -> str:
    return ", ".join(str(row.pairs) for row in rows)


def event_detail(transfer: AcceptedTransfer, estimate: Estimate) -> dict[str, Any]:
    """Detail of the event Approval Required: the rows and how long the person has; no token."""
    return {
        "transferId": transfer.transfer_id,
        "executionArn": transfer.execution_arn,
        "bytes": estimate.bytes,
        "rows": [_told(row) for row in estimate.rows],
        "recommendedPairs": estimate.chosen_pairs,
        "reason": estimate.reason,
        "timeoutSeconds": transfer.request.approval_timeout_seconds,
    }


def _told(row: Row) -> dict[str, Any]:
    """The row with its routes in words alone."""
    return row.model_copy(update={"limit": row.limit_and_ways, "planned": []}).to_document()


def letter(transfer: AcceptedTransfer, estimate: Estimate) -> tuple[str, str]:
    """Subject and text for people; the subject as SNS wants it: plain ASCII, fewer than 100 characters."""
    name, unit = transfer.transfer_id, estimate.figures.route.unit
    lines = [
        f"Transfer {name} waits for approval: {size(estimate.bytes)} from "
        f"{transfer.request.source.machine_words} ({transfer.source_region}) to "
        f"{transfer.request.destination.machine_words} ({transfer.destination_region}).",
        "",
        f"{f'{unit}s':>7} {'time':>12} {'in all':>12} {'speedup':>8} {'cost':>10} {'and time':>10} {'Wh':>8}"
        "  limited by",
        *(_line(row, recommended=row.pairs == estimate.chosen_pairs) for row in estimate.rows),
        "",
        "Time is that in which data moves; in all: from the transfer's start to its report. And time: the cost,",
        f"with what these hours are worth at ${transfer.request.objective.value_of_time:g} per hour.",
        f"> recommended: {estimate.reason}.",
        *(f"Note: {note}." for note in estimate.notes),
        "",
        f"Approve:  cpt approve {name}              (the recommended row; another one: --pairs N)",
        f'Reject:   cpt reject {name} --reason "..."',
        f"Without an answer it ends by itself after {timedelta(seconds=transfer.request.approval_timeout_seconds)}; "
        "nothing has been launched.",
    ]
    return f"Approve {name}?", "\n".join(lines)


def _line(row: Row, *, recommended: bool) -> str:
    mark = ">" if recommended else " "
    limit = f"{row.limit_and_ways} ({row.range_in_words})" if row.range_in_words else row.limit_and_ways
    limit += "; with a pre-test" if row.pre_test else ""
    whole = "-" if row.whole_seconds is None else duration(row.whole_seconds)
    energy = "-" if row.energy_wh is None else f"{row.energy_wh:.1f}"
    weighed = "-" if row.cost_and_time_usd is None else dollars(row.cost_and_time_usd)
    cost = f"{row.speedup:>8.2f} {dollars(row.cost_usd):>10} {weighed:>10} {energy:>8}"
    return f"{mark} {row.pairs:>5} {duration(row.seconds):>12} {whole:>12} {cost}  {limit}"
