"""Decide Approval: invoked by people, who need no access to task tokens; it sends the answer for them."""

from collections.abc import Mapping
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.errors import ApprovalRejected, NotAwaitingApproval
from lambdas.core.estimate.approval import ApprovalDecision, take_row
from lambdas.core.words import many
from lambdas.runtime.dashboard import also_by_click
from lambdas.runtime.handler import user_call


def decide_approval(decision: ApprovalDecision, world: World) -> dict[str, Any]:
    """Return what was answered; raises InvalidApproval, after which it still waits, or NotAwaitingApproval."""
    transfer_id = decision.transfer_id
    token, record = world.tokens.approval(transfer_id), world.transfers.get(transfer_id)
    if token is None or record is None or record.estimate is None:
        raise NotAwaitingApproval(
            f"$.transferId: no transfer '{transfer_id}' waits for approval; give the request's name, "
            "or the execution's name where the request has none"
        )
    if decision.decision == "reject":
        answer: dict[str, Any] = {"decision": "reject"}
        reason = decision.reason or "no reason given"
        sent = world.executions.fail(token, ApprovalRejected.__name__, f"rejected by person: {reason}")
    else:
        pairs = record.estimate.chosen_pairs if decision.pairs is None else decision.pairs
        take_row(record.estimate, pairs, record.transfer.request)
        answer = {"decision": "approve", "pairs": pairs}
        sent = world.executions.succeed(token, {"pairs": pairs})
    if not sent:
        raise NotAwaitingApproval(f"$.transferId: transfer '{transfer_id}' was answered already, stopped or timed out")
    return {"transferId": transfer_id, **answer}


def _words(done: Mapping[str, Any]) -> str:
    if done["decision"] == "reject":
        return f"'{done['transferId']}' is rejected."
    return f"'{done['transferId']}' goes on with {many(done['pairs'], 'pair')}."


handler = also_by_click(user_call(ApprovalDecision, decide_approval), _words)
