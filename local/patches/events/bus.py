"""Events between regions, and events of EC2.

AWS: a rule may name an event bus of another region as target (with a role); the event arrives there with the region it
came from. Lambda targets are invoked asynchronously, with Lambda's own retries and failure destination; an event that
cannot be handed over goes to the target's dead-letter queue. EC2 and SSM put events on the default bus of their own
region. A schedule calls its target as the role that it names, with `<aws.scheduler.…>` filled in.
Emulator: looks for the bus in the rule's region, never asks the role, and drops the event; invokes Lambda once, without
retries; has no dead-letter queues; EC2 and SSM put nothing; a schedule's placeholders stay, and it needs no role.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from local.config import LocalConfig
from local.patches.functions import queues
from local.patches.functions.dead_letters import bury
from local.patches.iam.checks import role_may
from local.patches.replace import override
from local.patches.upstream import (
    account_id,
    eventbridge,
    lambda_svc,
    parse_arn,
    region_name,
    request_scope,
    scheduler,
)

log = logging.getLogger("local.events")

_invoke_target = eventbridge._invoke_target
_dispatch_to_event_bus = eventbridge._dispatch_to_event_bus


def emit(
    account: str, region: str, source: str, detail_type: str, detail: dict[str, Any], resources: list[str]
) -> None:
    """Put an event of an AWS service on the default bus of `region`."""
    entry = {"Source": source, "DetailType": detail_type, "Detail": json.dumps(detail), "Resources": resources}
    with request_scope(account, region):
        eventbridge._ensure_default_bus()
        eventbridge._put_events({"Entries": [entry]}, allow_aws_source=True)


def install(config: LocalConfig) -> None:
    """Replace the dispatch to buses and to Lambda, and set the length of a schedule's minute."""
    parse = eventbridge._parse_rate_seconds
    minute = config.schedule_minute_seconds

    def parse_rate(expression: str) -> float | None:
        seconds = parse(expression)
        return None if seconds is None else seconds * minute / 60

    override(eventbridge, _parse_rate_seconds=parse_rate)
    eventbridge._SCHEDULER_TICK_INTERVAL = scheduler._SCHEDULE_TICK_INTERVAL = min(1.0, minute / 10)
    override(eventbridge, _dispatch_to_event_bus=_to_bus, _invoke_target=_to_target)


def _to_bus(spec: Any, event: dict[str, Any], rule: dict[str, Any], path: set[str], payload: Any = None) -> None:
    if spec.region == region_name() or spec.account_id != account_id():
        _dispatch_to_event_bus(spec, event, rule, path, payload)
        return
    with request_scope(spec.account_id, spec.region):
        eventbridge._ensure_default_bus()
        bus = spec.resource.split("/", 1)[1]
        if bus not in eventbridge._event_buses:
            raise LookupError(f"event bus {spec} does not exist")
        eventbridge._dispatch_event({**event, "EventBusName": bus})


def _to_target(target: dict[str, Any], event: dict[str, Any], rule: dict[str, Any], view: Any = None) -> None:
    arn = target.get("Arn", "")
    spec = parse_arn(arn)
    try:
        if spec.service == "events":
            _ask_role(target, "events:PutEvents", needed=spec.region != region_name())
        if "FlexibleTimeWindow" in rule:  # a schedule, which has one target
            _ask_role(target, "lambda:InvokeFunction")
            _to_lambda(arn, _scheduled(target, event), by_role=True)
        elif spec.service == "lambda":
            _to_lambda(arn, _payload(target, event, rule, view))
        elif spec.service == "events" and spec.resource.startswith("event-bus/"):
            _to_bus(spec, event, rule, set(event.get("_DispatchPath") or []))
        else:
            if spec.service == "sqs":
                queues.refuse(arn, rule["Arn"])
            _invoke_target(target, event, rule, view)
    except (LookupError, PermissionError) as error:
        log.warning("rule %s: %s", rule.get("Name"), error)
        _to_dead_letters(target, event, rule, error)


def _payload(target: dict[str, Any], event: dict[str, Any], rule: dict[str, Any], view: Any) -> Any:
    view = view or eventbridge._pattern_event_view(event)
    whole = view.event_with_detail()
    if target.get("InputTransformer"):
        return json.loads(eventbridge._apply_input_transformer(target["InputTransformer"], rule, view))
    if target.get("Input"):
        return json.loads(target["Input"])
    if target.get("InputPath"):
        for part in target["InputPath"].strip("$.").split("."):
            whole = whole[part]
    return whole


def _scheduled(target: dict[str, Any], event: dict[str, Any]) -> Any:
    """The target's input; the only placeholder that anybody uses is the time that the run was due."""
    due = datetime.fromtimestamp(event["Time"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.loads(target.get("Input", "{}").replace("<aws.scheduler.scheduled-time>", due))


def _ask_role(target: dict[str, Any], action: str, *, needed: bool = True) -> None:
    arn, role = target.get("Arn", ""), target.get("RoleArn")
    if needed and not role:
        raise PermissionError(f"target {arn} of a schedule or in another region needs a role")
    if role and not role_may(role, action, arn):
        raise PermissionError(f"role {role} does not allow {action} on {arn}")


def _to_lambda(arn: str, payload: Any, *, by_role: bool = False) -> None:
    function, config, name = lambda_svc._get_func_record_for_ref(arn)
    if not function or not config:
        raise LookupError(f"function {name} does not exist")
    if not by_role and not _may_invoke(function):
        raise PermissionError(f"function {name} has no permission for events.amazonaws.com")
    # Of an alias the emulator has the configuration of its version, which does not say who was invoked.
    invoked = {**config, "FunctionArn": arn}
    lambda_svc.invoke_async_with_retry(lambda_svc._execution_record_for_config(function, invoked), payload)


def _may_invoke(function: dict[str, Any]) -> bool:
    policy = json.dumps(function.get("policy") or {})
    return "events.amazonaws.com" in policy


def _to_dead_letters(target: dict[str, Any], event: dict[str, Any], rule: dict[str, Any], error: Exception) -> None:
    queue = (target.get("DeadLetterConfig") or {}).get("Arn")
    if queue and "FlexibleTimeWindow" in rule:
        bury(queue, _scheduled(target, event))
    elif queue:
        bury(queue, eventbridge._pattern_event_view(event).event_with_detail())
    else:
        log.error("rule %s: an event was lost: %s", rule.get("Name"), error)
