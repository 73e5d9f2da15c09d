"""Waves whose execution was stopped, or timed out: their label says so, and that nothing goes on by itself."""

import json
from collections.abc import Mapping
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.transfer.failure import ending
from lambdas.core.waves.deciding import stopped

# Of the calls that note a step only the one that ran while the execution was stopped can come in between.
_ATTEMPTS = 3


def note(world: World, detail: Mapping[str, Any]) -> str | None:
    """The status of its label from now on; None where another execution has it, or this one has noted its end.

    `detail`: of Step Functions' event, which has the execution's input where that is not too large.
    """
    label = _label(detail.get("input"))
    for _ in range(_ATTEMPTS):
        known = world.waves.of(label) if label else None
        if known is None or known.execution_arn != detail["executionArn"] or known.status != "RUNNING":
            return None
        status = str(detail["status"])
        why = ending(status, detail.get("error") or "", detail.get("cause") or "")
        over = stopped(known, status, why, world.clock.now())
        if world.waves.write(over):
            told = {"label": over.label, "executionArn": over.execution_arn, "status": over.status}
            world.events.put("Waves Ended", {**told, "cause": over.said, "spentUsd": over.spent_usd})
            return over.status
    return None


def _label(given: object) -> str | None:
    try:
        asked = json.loads(str(given))
    except ValueError:
        return None
    label = asked.get("label") if isinstance(asked, dict) else None
    return label if isinstance(label, str) and label else None
