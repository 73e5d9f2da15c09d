"""A record of used permissions: with CPT_RECORD_GRANTS=FILE, each grant that allowed a call is added to FILE once.

A line is `{"role", "action", "resource", "condition", "call"}`: the role's name, and action, resource and condition as
the deployed policy has them. Every Allow that matches the call counts, since any of them would do. `call` is the first
such call, `{"resource", "region", "context"}`: what it named, and the condition keys that it had.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from local.patches.iam.policy_variables import matches
from local.patches.replace import override
from local.patches.upstream import iam_evaluator

VARIABLE = "CPT_RECORD_GRANTS"


class Recorder:
    """Appends each grant that it has not seen before; several emulators may share a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def note(self, grant: dict[str, Any], call: dict[str, Any]) -> None:
        """Add a line unless the grant is known."""
        key = json.dumps(grant)
        if key in self._seen:
            return
        with self._lock, self._file.open("a") as target:
            self._seen.add(key)
            target.write(json.dumps({**grant, "call": call}) + "\n")


def install() -> None:
    """Record, where the environment asks for it."""
    if file := os.environ.get(VARIABLE):
        override(iam_evaluator, evaluate=_recording(iam_evaluator.evaluate, Recorder(Path(file))))


def _recording(evaluate: Any, recorder: Recorder) -> Any:
    def recorded(context: Any, policies: Any, *limits: Any) -> Any:
        result = evaluate(context, policies, *limits)
        if result.decision == "Allow" and context.principal_type == "AssumedRole":
            keys = {key: value for key, value in context.service_context.items() if value is not None}
            call = {"resource": context.resource_arn, "region": context.region, "context": keys}
            for grant in _matching(context, policies):
                recorder.note(grant, call)
        return result

    return recorded


def _matching(context: Any, policies: Any) -> Iterator[dict[str, Any]]:
    role = context.principal_arn.split("/")[1]
    for statement in (one for policy in policies for one in policy):
        if statement.effect == "Allow" and matches(context, statement):
            for resource in statement.resources:
                if matches(context, replace(statement, resources=[resource])):
                    grant = {"role": role, "action": context.action, "resource": resource}
                    yield {**grant, "condition": statement.conditions}
