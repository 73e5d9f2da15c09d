import json
from pathlib import Path

import pytest

from lambdas.core.tariff import control_plane
from lambdas.core.tariff.control_plane import calls, dollars, listing_parts

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
MEASURING = (
    "Look at Measured Ends",
    "Estimate Measuring",
    "Is Measuring to Be Approved?",
    "Plan Measuring",
    "Measure Paths",
)
COPYING = ("Survey Buckets", "Copy Round", "Is Everything Copied?", "Finish Copies")
REMOVING = ("Make Way", "Delete Extras")
PRICED = {"Is a Price Awaited?", "Await Price", "Is the Price Low Enough?", "Wait for the Price"}
RESTORING = (
    "List Archived",
    "Is Every Archived Object Listed?",
    "Restore Objects",
    "Is Everything Restored?",
    "Await Restores",
)
DECIDING = ("Decide Relays", "Are More Relays Wanted?", "Fleet Decided", "Is the Fleet a Guess?")


def test_a_small_transfer_costs_one_or_two_tenths_of_a_cent() -> None:
    assert dollars(calls(chunks=50, pairs=0, seconds=30, spawn_seconds=90)) == pytest.approx(0.0013, rel=0.1)
    assert dollars(calls(chunks=50, pairs=3, seconds=30, spawn_seconds=90)) == pytest.approx(0.0021, rel=0.1)


@pytest.mark.parametrize(
    ("entries", "parts"), [(0, 1), (100, 1), (101, 2), (300, 2), (301, 3), (51_100, 9), (51_101, 10), (101_101, 11)]
)
def test_objects_of_a_listing_double_up_to_50_000_lines(entries: int, parts: int) -> None:
    assert listing_parts(entries) == parts


def test_many_small_files_cost_what_their_listing_costs_to_read_and_write() -> None:
    """A million files of 1 KiB were costed as one file of 1 GB."""
    one, million = (dollars(calls(chunks=500, pairs=0, seconds=20, spawn_seconds=0, entries=n)) for n in (1, 10**6))
    # 28 objects in place of one, and 150 GB-seconds.
    assert million - one == pytest.approx(27 * (3 * 5e-6 + 5 * 0.4e-6) + 150 * 16.6667e-6, rel=0.01)


def test_each_relay_has_an_item_that_is_written_and_indexed() -> None:
    more = [calls(chunks=0, pairs=pairs, seconds=30, spawn_seconds=0).writes for pairs in (1, 3)]
    assert more[1] - more[0] == 4 * control_plane.WRITES_PER_RELAY


def test_a_million_chunks_cost_what_their_writes_and_reads_cost() -> None:
    each = 2.2 * 0.625e-6 + 0.4 * 0.125e-6
    much, little = (dollars(calls(chunks, 0, 0, 0)) for chunks in (1_000_000, 0))
    assert much - little == pytest.approx(1_000_000 * each)


def test_states_are_as_many_as_the_state_machine_has() -> None:
    """Every state but those of failures, approval, a listing that goes on, decisions on the way, extras, measuring,
    copies and waits for a price is on a successful transfer's way.
    """
    parallel = MACHINE["States"]["Move Data"]
    branches = [
        state for branch in parallel["Branches"] for state in branch["States"] if state not in {*FOLLOWING, *DECIDING}
    ]
    outer = [
        name
        for name, state in MACHINE["States"].items()
        if state["Type"] != "Fail"
        and "Approv" not in name
        and name not in {*FOLLOWING, *REMOVING, *MEASURING, *COPYING, *RESTORING, *PRICED}
    ]
    warmed = 5  # functions, each in an iteration of one state
    assert pytest.approx(len(outer) + len(branches) + warmed, abs=2) == control_plane.STATES_WITH_RELAYS
