"""Waves whose execution was stopped: the label says so, unless it is another execution's, or says how it ended."""

import json
from typing import Any

import pytest

from lambdas.core.waves.waves import Waves
from lambdas.handlers.reactions.sweep_execution import sweep_execution
from lambdas.operations.stopped_waves import note
from lambdas.runtime.handler import BusEvent
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.waves.test_deciding import ARN
from tests.lambdas.handlers.waves.test_decide_wave import ASKED, decide

STOPPED: dict[str, Any] = {
    "executionArn": ARN,
    "stateMachineArn": "arn:aws:states:us-west-2:123456789012:stateMachine:cpt-waves",
    "status": "ABORTED",
    "input": json.dumps(ASKED),
    "error": "Cancelled",
    "cause": "wrong tree",
}


def noted(cloud: Cloud) -> Waves:
    found = cloud.waves.of("archive")
    assert found is not None
    return found


def test_the_label_says_that_its_execution_was_stopped_and_whoever_listens_hears_it_once() -> None:
    cloud = Cloud()
    decide(cloud)
    event = BusEvent.from_document({"detail-type": "Step Functions Execution Status Change", "detail": STOPPED})
    assert sweep_execution(event, cloud.world) == {"swept": False, "waves": "STOPPED"}
    assert sweep_execution(event, cloud.world) == {"swept": False, "waves": None}
    over = noted(cloud)
    assert (over.status, over.error) == ("STOPPED", "ExecutionAborted")
    assert "ABORTED (Cancelled): wrong tree" in over.said
    [(kind, told)] = cloud.events.put_events
    assert (kind, told["label"], told["status"]) == ("Waves Ended", "archive", "STOPPED")


def test_a_step_that_is_noted_meanwhile_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud()
    decide(cloud)
    read, once = cloud.waves.of, iter([noted(cloud)])
    cloud.waves.write(noted(cloud).model_copy(update={"version": 2, "spent_usd": 0.5}))
    monkeypatch.setattr(cloud.waves, "of", lambda label: next(once, None) or read(label))
    assert note(cloud.world, STOPPED) == "STOPPED"
    assert (noted(cloud).version, noted(cloud).spent_usd) == (3, 0.5)


@pytest.mark.parametrize(
    "other",
    [
        {"executionArn": ARN + "-2"},
        {"input": json.dumps({"label": "other"})},
        {"input": None},
        {"input": "[]"},
        {"input": json.dumps({"label": ["archive"]})},
    ],
)
def test_what_another_execution_has_under_the_label_stays(other: dict[str, Any]) -> None:
    cloud = Cloud()
    decide(cloud)
    assert note(cloud.world, {**STOPPED, **other}) is None
    assert noted(cloud).status == "RUNNING"
