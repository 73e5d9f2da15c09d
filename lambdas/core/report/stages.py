"""Times of each state of the state machine; tests hold the order to the state machine."""

from collections.abc import Mapping
from typing import Any

from lambdas.core.documents import Document

STAGE_ORDER = (
    "Validate Request",
    "List Archived",
    "Await Price",
    "Survey Buckets",
    "Resolve Paths",
    "Survey Ends",
    "Estimate Transfer",
    "Await Approval",
    "Apply Approval",
    "Restore Objects",
    "Plan Chunks",
    "Open Plan",
    "Make Way",
    "Start Transfer",
    "Extend Plan",
    "Finish Survey",
    "Decide Relays",
    "Spawn Relays",
    "Await Relays",
    "Pre-Test Relays",
    "Join Relays",
    "Release Relays",
    "Verify Transfer",
    "Delete Extras",
    "Resolve Measured Paths",
    "Survey Measured Ends",
    "Estimate Measuring",
    "Await Measuring Approval",
    "Apply Measuring Approval",
    "Plan Measuring",
    "Start Sender",
    "Spawn Measured Relays",
    "Await Measured Relays",
    "Measure Relays",
    "List Objects",
    "Copy Unit",
    "Finish Copies",
    "Tear Down",
    "Write Report",
)


class StageTime(Document):
    """Wall time of one state, s."""

    stage: str
    seconds: float


def stage_times(stages: Mapping[str, Mapping[str, Any]]) -> list[StageTime]:
    """Read `{name: {enteredAt, leftAt}}` into times in the order of the state machine."""
    order = {name: i for i, name in enumerate(STAGE_ORDER)}
    return [
        StageTime(stage=name, seconds=round(float(times["leftAt"]) - float(times["enteredAt"]), 3))
        for name, times in sorted(stages.items(), key=lambda item: order.get(item[0], len(order)))
        if "leftAt" in times and "enteredAt" in times
    ]
