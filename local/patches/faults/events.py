"""Configured faults of EventBridge.

AWS: an event may come late, twice or, rarely, not at all, and events in another order than they were put; PutEvents may
refuse single entries of a call that succeeds.
Emulator: hands each event over once, in order.
"""

from __future__ import annotations

import threading
from typing import Any

from local.config import Fault
from local.instances.faults import Faults
from local.patches.upstream import account_id, eventbridge, region_name, request_scope, responses

LOST, DOUBLED, LATE = "Lost", "Doubled", "Late"


def install(faults: Faults) -> None:
    """Guard what rules hand over to their targets, and what clients put."""
    invoke_target, put_events = eventbridge._invoke_target, eventbridge._put_events

    def guarded_target(target: dict[str, Any], event: dict[str, Any], rule: dict[str, Any], view: Any = None) -> None:
        fault = faults.hit("DeliverEvent", region_name(), detail_type=event.get("DetailType", ""))
        code = fault.code if fault else None
        if fault and code == LATE:
            _later(fault, target, event, rule, invoke_target)
        elif code != LOST:
            for _ in range(2 if code == DOUBLED else 1):
                invoke_target(target, event, rule, view)

    def guarded_put(data: dict[str, Any], allow_aws_source: bool = False) -> Any:
        entries = data.get("Entries", [])
        if allow_aws_source:
            return put_events(data, allow_aws_source=True)
        found = [faults.hit("PutEvents", region_name(), detail_type=entry.get("DetailType", "")) for entry in entries]
        if not any(found):
            return put_events(data)
        taken = [entry for entry, fault in zip(entries, found, strict=True) if fault is None]
        if taken:
            put_events({**data, "Entries": taken})
        answers = [{"ErrorCode": f.code, "ErrorMessage": "Spoiled."} if f else {"EventId": "0"} for f in found]
        return responses.json_response({"FailedEntryCount": len(entries) - len(taken), "Entries": answers})

    eventbridge._invoke_target, eventbridge._put_events = guarded_target, guarded_put


def _later(fault: Fault, target: dict[str, Any], event: dict[str, Any], rule: dict[str, Any], invoke: Any) -> None:
    account, region = account_id(), region_name()

    def deliver() -> None:
        with request_scope(account, region):
            invoke(target, event, rule, None)

    timer = threading.Timer(fault.late_seconds, deliver)
    timer.daemon = True
    timer.start()
