"""The report has each state's time, in the order of the state machine."""

import json
from pathlib import Path

from lambdas.core.report.stages import STAGE_ORDER, stage_times
from tools.data_flow import order, tasks

STATES = json.loads(Path("statemachine/transfer.asl.json").read_text())["States"]


def test_stages_are_the_tasks_of_the_state_machine() -> None:
    assert sorted(STAGE_ORDER) == sorted(tasks(STATES))


def test_each_stage_stands_behind_those_that_it_follows() -> None:
    # These lead back: after relays have joined the decision may be taken again, and after a round comes the next.
    back = {("Join Relays", "Decide Relays"), ("Copy Unit", "List Objects")}
    followed = [step for step in order(STATES) if step not in back]
    assert ("Spawn Relays", "Await Relays") in followed
    assert [(before, after) for before, after in followed if STAGE_ORDER.index(before) > STAGE_ORDER.index(after)] == []


def test_times_are_sorted_and_what_has_not_ended_is_left_out() -> None:
    times = {
        "Tear Down": {"enteredAt": 7.0, "leftAt": 9.5},
        "Validate Request": {"enteredAt": 1.0, "leftAt": 1.25},
        "Survey Ends": {"enteredAt": 2.0},
    }
    told = {time.stage: time.seconds for time in stage_times(times)}
    assert list(told.items()) == [("Validate Request", 0.25), ("Tear Down", 2.5)]
