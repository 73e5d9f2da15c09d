import json
from pathlib import Path

import pytest

from lambdas.core.tariff import control_plane
from lambdas.core.tariff.control_plane import calls, dollars

MACHINE = json.loads(Path("statemachine/transfer.asl.json").read_text())


FOLLOWING = (
    "Open Plan",
    "Extend Plan",
    "Is the Plan Still Wanted?",
    "Plan Broken",
    "Finish Survey",
    "Is the Survey Still Wanted?",
    "Survey Broken",
)


def test_a_small_transfer_costs_about_a_tenth_of_a_cent() -> None:
    assert dollars(calls(chunks=50, pairs=0, seconds=30, spawn_seconds=90)) == pytest.approx(0.0007, rel=0.25)
    assert dollars(calls(chunks=50, pairs=3, seconds=30, spawn_seconds=90)) == pytest.approx(0.0011, rel=0.25)


def test_a_million_chunks_cost_what_their_writes_and_reads_cost() -> None:
    each = 2.2 * 0.625e-6 + 0.5 * 0.125e-6
    much, little = (dollars(calls(chunks, 0, 0, 0)) for chunks in (1_000_000, 0))
    assert much - little == pytest.approx(1_000_000 * each)


def test_states_are_as_many_as_the_state_machine_has() -> None:
    """Every state but those of failures, approval and a listing that goes on is on a successful transfer's way."""
    parallel = MACHINE["States"]["Move Data"]
    branches = [state for branch in parallel["Branches"] for state in branch["States"] if state not in FOLLOWING]
    outer = [
        name
        for name, state in MACHINE["States"].items()
        if state["Type"] != "Fail" and "Approv" not in name and name not in FOLLOWING
    ]
    assert pytest.approx(len(outer) + len(branches), abs=5) == control_plane.STATES_WITH_RELAYS
