from typing import Any

import pytest

from bench.scale.history import ERRAND, deployed_machine, events_of_the_queue, most_events

TASK: dict[str, Any] = {"Type": "Task", "Retry": [{"MaxAttempts": 2}], "Next": "End"}
END: dict[str, Any] = {"Type": "Succeed"}
WAITS = ("Wait for Its Turn", "Wait for the Relays' Turn", "List Archived", "Restore Objects", "Wait for the Price")


def test_the_history_does_not_grow_with_the_data() -> None:
    # 1 260 once through all states, and three launches more of the fleet's branch with every retry used.
    assert most_events(without_waiting(deployed_machine())) - events_of_the_queue() < 1_960


def test_the_wait_for_a_destination_stays_within_what_step_functions_keeps() -> None:
    """A try each 30 s, for 12 hours; then, under another name of the directory, one each 600 s."""
    assert 1_440 < most_events(deployed_machine()) < 25_000


def without_waiting(machine: dict[str, Any]) -> dict[str, Any]:
    """The machine where no destination is taken, no launch and no restore waits, and functions may always run."""
    return {**machine, "States": {name: _without_waiting(state) for name, state in machine["States"].items()}}


def _without_waiting(state: dict[str, Any]) -> dict[str, Any]:
    waits = {"DestinationTaken", "Lambda.TooManyRequestsException"}
    changed = dict(state)
    if "Retry" in state:
        changed["Retry"] = [retry for retry in state["Retry"] if not waits.intersection(retry["ErrorEquals"])]
    if "Choices" in state:
        changed["Choices"] = [choice for choice in state["Choices"] if choice["Next"] not in WAITS]
    if "Branches" in state:
        changed["Branches"] = [without_waiting(branch) for branch in state["Branches"]]
    return changed


def test_each_try_of_a_task_counts() -> None:
    machine = {"StartAt": "Move", "States": {"Move": TASK, "End": END}}
    assert most_events(machine) == 10 + (2 + 3 * 3) + 2


def test_a_loop_is_named() -> None:
    machine = {
        "StartAt": "Move",
        "States": {"Move": {**TASK, "Next": "Wait"}, "Wait": {"Type": "Wait", "Next": "Move"}},
    }
    with pytest.raises(ValueError, match="Move → Wait → Move"):
        most_events(machine)


def test_a_loop_that_is_bounded_counts_as_often_as_it_may_be_entered() -> None:
    machine = {
        "StartAt": "Decide Relays",
        "States": {"Decide Relays": {**TASK, "Next": "Spawn"}, "Spawn": {"Type": "Pass", "Next": "Decide Relays"}},
    }
    assert most_events(machine) == 10 + 4 * (2 + 3 * 3) + 4 * 2


def test_of_branches_that_exclude_each_other_the_longer_one_counts() -> None:
    chosen = {"Type": "Choice", "Choices": [{"Next": "Measure"}], "Default": "Move"}
    states = {ERRAND: chosen, "Move": TASK, "Measure": {**TASK, "Next": "Again"}, "Again": TASK, "End": END}
    assert most_events({"StartAt": ERRAND, "States": states}) == 10 + 2 + 2 * (2 + 3 * 3) + 2


def test_a_map_is_refused() -> None:
    with pytest.raises(ValueError, match="each item"):
        most_events({"StartAt": "Each", "States": {"Each": {"Type": "Map"}}})
