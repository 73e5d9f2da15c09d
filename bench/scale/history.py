"""The most events that an execution's history can have, read off the state machine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Scheduled, started and ended, for each attempt of a task.
EVENTS_PER_ATTEMPT = 3
# Entered and exited.
EVENTS_PER_STATE = 2
# Execution started and ended; branches begin and end.
EVENTS_AROUND = 10


def deployed_machine() -> dict[str, Any]:
    """The state machine of the synthesized template."""
    template = json.loads(Path("cdk.out/cpt-control.template.json").read_text())
    kind = "AWS::StepFunctions::StateMachine"
    found = next(resource for resource in template["Resources"].values() if resource["Type"] == kind)
    machine: dict[str, Any] = json.loads(found["Properties"]["DefinitionString"])
    return machine


def most_events(machine: dict[str, Any]) -> int:
    """Of a machine without loops, each state entered once and each task tried as often as it may be.

    Raises ValueError for a loop, or a Map over anything but a list: then the history grows with the data.
    """
    states = machine["States"]
    _refuse_loops(machine["StartAt"], states, ())
    return EVENTS_AROUND + sum(_events(state) for state in states.values())


def _events(state: dict[str, Any]) -> int:
    if state["Type"] == "Map":
        if not isinstance(state.get("Items"), list):
            raise ValueError("a Map has events for each item")
        return EVENTS_PER_STATE + len(state["Items"]) * (EVENTS_PER_STATE + most_events(state["ItemProcessor"]))
    inside = sum(most_events(branch) for branch in state.get("Branches", []))
    attempts = 1 + sum(retry.get("MaxAttempts", 3) for retry in state.get("Retry", []))
    return EVENTS_PER_STATE + inside + (EVENTS_PER_ATTEMPT * attempts if state["Type"] == "Task" else 0)


def _refuse_loops(name: str, states: dict[str, Any], way: tuple[str, ...]) -> None:
    if name in way:
        raise ValueError(f"{name} follows itself: {' → '.join((*way, name))}")
    for following in _following(states[name]):
        _refuse_loops(following, states, (*way, name))


def _following(state: dict[str, Any]) -> Iterator[str]:
    for holder in (state, *state.get("Choices", []), *state.get("Catch", [])):
        if "Next" in holder:
            yield holder["Next"]
    if "Default" in state:
        yield state["Default"]
