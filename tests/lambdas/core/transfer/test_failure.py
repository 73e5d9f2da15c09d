"""How a state has failed, in whichever form Step Functions tells it."""

import json
from typing import Any

import pytest

from lambdas.core.transfer.failure import Failure, ending, name_of_ours

SAID = json.dumps({"errorMessage": "no space left", "errorType": "DestinationFull"})


@pytest.mark.parametrize(
    "value",
    [
        {"Error": "DestinationFull", "Cause": SAID},
        {"error": "DestinationFull", "cause": SAID},
        {"error": {"Error": "DestinationFull", "Cause": SAID}},
        {"Error": "DestinationFull", "Cause": "no space left"},
    ],
)
def test_each_form_is_read(value: Any) -> None:
    assert Failure.from_any(value) == Failure(error="DestinationFull", cause="no space left")


@pytest.mark.parametrize("value", [None, {}, [], "DestinationFull", {"cause": "x"}])
def test_what_says_no_error_is_no_failure(value: Any) -> None:
    assert Failure.from_any(value) is None


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("States.HeartbeatTimeout", "HeartbeatLost"),
        ("States.Timeout", "StepTimedOut"),
        ("States.TaskFailed", "WorkflowTaskFailed"),
        ("Workflow.Odd", "WorkflowOdd"),
        ("EndGone", "EndGone"),
    ],
)
def test_no_execution_can_fail_by_a_name_of_step_functions(error: str, name: str) -> None:
    assert name_of_ours(error) == name


def test_ending_leaves_out_what_is_not_known() -> None:
    assert ending("ABORTED", "Cancelled", "wrong directory") == "ABORTED (Cancelled): wrong directory"
    assert ending("TIMED_OUT", "", "") == "TIMED_OUT"
    assert ending("FAILED", "", SAID) == "FAILED: no space left"
