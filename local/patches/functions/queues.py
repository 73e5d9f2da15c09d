"""Functions that read a queue.

AWS: a mapping is refused where the function's role may not read the queue, or the queue hides a message for less time
than the function may run, or a batch of more than 10 has no window. Lambda collects a batch for as long as the window,
or until it is full, then invokes the function. It deletes what did not fail, under the function's role; what failed is
hidden until the queue's visibility timeout is over, and comes again without the others. A function that should report
failures and answers in another form has failed on all. An event reaches a queue if the queue's policy lets the rule.
Emulator: asks neither role nor policy, knows no window and gives 10 at most, and takes an answer of another form for
success.
"""

from __future__ import annotations

import contextvars
import logging
import time
from collections.abc import Callable
from typing import Any

from local.config import LocalConfig
from local.patches.iam.checks import role_may
from local.patches.replace import override
from local.patches.upstream import account_id, iam_evaluator, lambda_svc, provisioners, responses, sqs

log = logging.getLogger("local.lambda")

READING = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
# What SQS gives in one call.
MOST_AT_ONCE = 10


def install(config: LocalConfig) -> None:
    """Replace how mappings are made, and how batches are collected and ended."""
    mapping = provisioners._RESOURCE_HANDLERS["AWS::Lambda::EventSourceMapping"]
    mapping["create"] = _checked(mapping["create"])
    create = lambda_svc._create_esm

    def create_by_call(data: dict[str, Any]) -> Any:
        if why := _refusal(data):
            return responses.error_response_json("InvalidParameterValueException", why, 400)
        return create(data)

    receive = sqs._receive_messages_for_esm
    override(lambda_svc, _create_esm=create_by_call, _run_sqs_batch=_run)
    override(sqs, _receive_messages_for_esm=_collecting(receive, config.visibility_minute_seconds))


def refuse(queue_arn: str, rule_arn: str) -> None:
    """Raise where a rule's events do not reach a queue: LookupError, PermissionError."""
    if sqs._queue_by_arn(queue_arn) is None:
        raise LookupError(f"queue {queue_arn} does not exist")
    if not contextvars.copy_context().run(_lets, queue_arn, rule_arn):
        raise PermissionError(f"the policy of {queue_arn} does not let {rule_arn} send")


def _lets(queue_arn: str, rule_arn: str) -> bool:
    # EventBridge calls over TLS, whatever has brought the event about.
    iam_evaluator.pin_request_origin("127.0.0.1", True)
    return bool(sqs.queue_policy_allows(queue_arn, "events.amazonaws.com", rule_arn, account_id()))


def _checked(create: Any) -> Any:
    def wrapped(logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        if why := _refusal(properties):
            raise ValueError(f"{logical_id}: {why}")
        return create(logical_id, properties, stack)

    return wrapped


def _refusal(asked: dict[str, Any]) -> str | None:
    """Why Lambda refuses a mapping, in its own words."""
    source = asked.get("EventSourceArn", "")
    queue = sqs._queue_by_arn(source) if ":sqs:" in source else None
    name, _ = lambda_svc._resolve_request_scoped_name_and_qualifier(asked.get("FunctionName", ""))
    function = lambda_svc._functions.get(name)
    if queue is None or function is None:
        return None  # the emulator says so itself
    hidden, runs = int(queue["attributes"].get("VisibilityTimeout", 30)), int(function["config"].get("Timeout", 3))
    if hidden < runs:
        return f"Queue visibility timeout: {hidden} seconds is less than Function timeout: {runs} seconds"
    if int(asked.get("BatchSize", MOST_AT_ONCE)) > MOST_AT_ONCE and not asked.get("MaximumBatchingWindowInSeconds"):
        return "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10"
    for action in READING:
        if not role_may(function["config"]["Role"], action, source):
            call = action.removeprefix("sqs:")
            return f"The provided execution role does not have permissions to call {call} on SQS"
    return None


def _collecting(receive: Callable[[str, int], list[dict[str, Any]]], minute: float) -> Any:
    def collected(queue_url: str, most: int) -> list[dict[str, Any]]:
        queue = sqs._get_q(queue_url)
        arn = queue["attributes"]["QueueArn"]
        with sqs._queues_lock:
            sqs._expire_retained(queue)
            sqs._dlq_sweep(queue)
        mapping = next(one for one in lambda_svc._esms.values() if one["EventSourceArn"] == arn)
        shown = [message for message in queue["messages"] if message["visible_at"] <= time.time()]
        if not shown or not _is_due(shown, mapping, most) or not _may(mapping, "sqs:ReceiveMessage"):
            return []
        batch: list[dict[str, Any]] = []
        while len(batch) < most and (some := receive(queue_url, most - len(batch))):
            batch += some
        hidden = float(queue["attributes"].get("VisibilityTimeout", 30)) * minute / 60
        for message in batch:
            message["visible_at"] = time.time() + hidden
        return batch

    return collected


def _is_due(shown: list[dict[str, Any]], mapping: dict[str, Any], most: int) -> bool:
    waited = time.time() - min(message["visible_at"] for message in shown)
    return len(shown) >= most or waited >= float(mapping.get("MaximumBatchingWindowInSeconds") or 0)


def _may(mapping: dict[str, Any], action: str) -> bool:
    role = lambda_svc._functions[mapping["FunctionName"]]["config"]["Role"]
    if role_may(role, action, mapping["EventSourceArn"]):
        return True
    log.error("function %s: its role does not allow %s", mapping["FunctionName"], action)
    return False


def _run(
    mapping: dict[str, Any],
    function: dict[str, Any],
    event: dict[str, Any],
    batch: list[dict[str, Any]],
    queue_url: str,
    _queue_name: str,
) -> None:
    answer = lambda_svc._execute_function(function, event)
    every = {message["id"] for message in batch}
    failed = every if answer.get("error") or answer.get("throttle") else _failed(mapping, answer.get("body"), every)
    mapping["LastProcessingResult"] = f"OK - {len(every - failed)} records, {len(failed)} partial failures"
    done = {message["receipt_handle"] for message in batch if message["id"] not in failed}
    if done and _may(mapping, "sqs:DeleteMessage"):
        sqs._delete_messages_for_esm(queue_url, done)


def _failed(mapping: dict[str, Any], body: Any, every: set[str]) -> set[str]:
    """Ids of those on which the function says that it failed; all, where it does not say it in Lambda's form."""
    if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []) or not body:
        return set()
    failures = body.get("batchItemFailures") or [] if isinstance(body, dict) else None
    if not isinstance(failures, list):
        return every
    ids = [one.get("itemIdentifier") if isinstance(one, dict) else None for one in failures]
    return {str(one) for one in ids} if all(ids) else every
