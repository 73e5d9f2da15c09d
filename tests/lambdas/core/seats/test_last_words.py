"""Each failure that a daemon may end with is its machine's or its transfer's, and never both."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.failures import FAILURES
from lambdas.core.seats.last_words import OF_MACHINE, OF_TRANSFER, is_of_machine
from tests.paths import ROOT

CONTRACT = json.loads((ROOT / "contracts" / "failures.json").read_text(encoding="utf-8"))
# The Rust suite holds these against the daemon's own type.
OF_DAEMONS = {name for name, known in FAILURES.items() if "daemon" in known.raised_by}
OF_DAEMONS |= set(CONTRACT["onlyInLogs"]["names"])


def test_every_failure_of_a_daemon_is_in_one_of_the_two() -> None:
    assert OF_MACHINE | OF_TRANSFER == OF_DAEMONS


@pytest.mark.parametrize("error", sorted(OF_DAEMONS))
def test_no_failure_is_in_both(error: str) -> None:
    assert (error in OF_MACHINE) + (error in OF_TRANSFER) == 1


@given(st.text() | st.sampled_from(sorted(OF_DAEMONS)) | st.sampled_from(sorted(FAILURES)))
def test_only_a_failure_of_a_daemon_can_be_its_machines(error: str) -> None:
    assert is_of_machine(error) <= (error in OF_DAEMONS)
