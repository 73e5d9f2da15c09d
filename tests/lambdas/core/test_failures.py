"""Advice is plain text for each failure of the contract, and general for what nobody knows."""

import pytest

from lambdas.core.failures import FAILURES, advice
from lambdas.core.transfer.failure import Failure

GENERAL = advice("SomethingNew")


@pytest.mark.parametrize("error", FAILURES)
def test_advice_is_that_of_the_contract_without_its_marks(error: str) -> None:
    told = FAILURES[error].advice
    assert advice(error).split() == told.replace("`", "").split()
    assert told.count("`") % 2 == 0
    assert GENERAL != advice(error) != ""
    assert "`" not in advice(error)


@pytest.mark.parametrize("error", ["", "Lambda.Unknown", "__doc__", "AskPerson"])
def test_unknown_errors_get_general_advice(error: str) -> None:
    assert advice(error) == GENERAL


@pytest.mark.parametrize(
    ("caught", "told"),
    [
        ("States.HeartbeatTimeout", "HeartbeatLost"),
        ("Workflow.Timeout", "StepTimedOut"),
        ("States.QueryEvaluationError", "WorkflowQueryEvaluationError"),
        ("NoCapacity", "NoCapacity"),
    ],
)
def test_errors_of_step_functions_have_names_that_an_execution_may_fail_with(caught: str, told: str) -> None:
    failure = Failure.from_any({"Error": caught, "Cause": ""})
    assert failure is not None
    assert failure.error == told
