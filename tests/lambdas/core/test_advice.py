"""Every failure that people meet has words that say what to do."""

import pytest

from lambdas.core import errors
from lambdas.core.advice import advice

GENERAL = advice("SomethingNew")
ASKS = [kind.__name__ for kind in errors.AskPerson.__subclasses__()]
FAILS = [kind.__name__ for kind in errors.FailTransfer.__subclasses__() if kind is not errors.AskPerson]
OTHERS = [
    *("States.Timeout", "States.HeartbeatTimeout", "ExecutionAborted", "ExecutionTimedOut", "ExecutionGone"),
    *("ChunksFailed", "DestinationError", "ControlUnavailable", "NotEnoughMemory", "TooFewOpenFiles", "DigestMismatch"),
]


@pytest.mark.parametrize("error", [*ASKS, *FAILS, *OTHERS])
def test_error_has_advice_of_its_own(error: str) -> None:
    assert advice(error) not in (GENERAL, advice("AskPerson"))


def test_errors_without_words_of_their_own_are_judged_by_their_decision() -> None:
    assert advice("AskPerson").startswith("Change the request")
    assert advice("Throttled") == advice("WriteConflict") != GENERAL


@pytest.mark.parametrize("error", ["", "Lambda.Unknown", "__doc__", "annotations"])
def test_unknown_errors_get_general_advice(error: str) -> None:
    assert advice(error) == GENERAL
