"""Advice is plain text for each failure of the contract, and general for what nobody knows."""

import pytest

from lambdas.core.failures import FAILURES, advice

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
