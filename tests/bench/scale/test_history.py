from typing import Any

import pytest

from bench.scale.history import deployed_machine, most_events

TASK: dict[str, Any] = {"Type": "Task", "Retry": [{"MaxAttempts": 2}], "Next": "End"}
END: dict[str, Any] = {"Type": "Succeed"}


def test_the_history_does_not_grow_with_the_data() -> None:
    assert most_events(without_waiting(deployed_machine())) < 1_000


def test_the_wait_for_a_destination_stays_within_what_step_functions_keeps() -> None:
    """A try each 30 s, for 12 hours; then, under another name of the directory, one each 600 s."""
    assert 1_440 < most_events(deployed_machine()) < 25_000


def without_waiting(machine: dict[str, Any]) -> dict[str, Any]:
    """The machine where no destination is ever taken."""
    states = dict(machine["States"])
    for name in ("Validate Request", "Survey Ends"):
        tries = [retry for retry in states[name]["Retry"] if "DestinationTaken" not in retry["ErrorEquals"]]
        states[name] = {**states[name], "Retry": tries}
    return {**machine, "States": states}


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


def test_a_map_is_refused() -> None:
    with pytest.raises(ValueError, match="each item"):
        most_events({"StartAt": "Each", "States": {"Each": {"Type": "Map"}}})
