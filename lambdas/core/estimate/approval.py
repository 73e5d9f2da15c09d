"""Approval: what a person may answer, the row that they take, and the letter that asks them."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from lambdas.core.documents import Count, Document, TransferId
from lambdas.core.errors import InvalidApproval
from lambdas.core.estimate.budget import within
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.rows import Row
from lambdas.core.problems import describe
from lambdas.core.request import TransferRequest
from lambdas.core.transfer import AcceptedTransfer


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


def _named(rows: list[Row]) -> str:
    return ", ".join(str(row.pairs) for row in rows)


def event_detail(transfer: AcceptedTransfer, estimate: Estimate) -> dict[str, Any]:
    """Detail of the event Approval Required: the rows and how long the person has; no token."""
    return {
        "transferId": transfer.transfer_id,
        "executionArn": transfer.execution_arn,
        "bytes": estimate.bytes,
        "rows": [row.to_document() for row in estimate.rows],
        "recommendedPairs": estimate.chosen_pairs,
        "reason": estimate.reason,
        "timeoutSeconds": transfer.request.approval_timeout_seconds,
    }


def letter(transfer: AcceptedTransfer, estimate: Estimate) -> tuple[str, str]:
    """Subject and text for people; the subject as SNS wants it: plain ASCII, fewer than 100 characters."""
    name = transfer.transfer_id
    lines = [
        f"Transfer {name} waits for approval: {estimate.bytes / 1e6:,.0f} MB from "
        f"{transfer.source.instance_id} ({transfer.source.region}) to "
        f"{transfer.destination.instance_id} ({transfer.destination.region}).",
        "",
        f"  {'pairs':>5} {'seconds':>10} {'in all':>10} {'speedup':>8} {'dollars':>10} {'Wh':>8}  limited by",
        *(_line(row, recommended=row.pairs == estimate.chosen_pairs) for row in estimate.rows),
        "",
        "Seconds are those in which data moves; in all: from the transfer's start to its report.",
        f"> recommended: {estimate.reason}.",
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
    whole, energy = _known(row.whole_seconds), _known(row.energy_wh)
    cost = f"{row.speedup:>8.2f} {row.cost_usd:>10.4f} {energy:>8}"
    return f"{mark} {row.pairs:>5} {row.seconds:>10.1f} {whole:>10} {cost}  {limit}"


def _known(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
