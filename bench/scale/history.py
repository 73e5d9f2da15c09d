"""The most events that an execution's history can have, read off the state machine."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lambdas.core.documents import MAX_TRANSIT_REGIONS
from lambdas.core.estimate.first_contact import MOST_LAUNCHES
from lambdas.core.fleet.launch_queue import MOST_REFUSALS
from lambdas.core.pool import place_in_queue, price_wait
from lambdas.core.request.pool_rules import MOST_WAIT_SECONDS
from lambdas.core.restores.rounds import ROUND_SECONDS, most_rounds


def _looks(longest_seconds: float, pause: Callable[[float], float]) -> int:
    """Looks of a wait; `pause`: seconds until the next one, by those that have passed."""
    waited, looks = 0.0, 1
    while waited < longest_seconds:
        waited, looks = waited + pause(waited), looks + 1
    return looks


# Scheduled, started and ended, for each attempt of a task.
EVENTS_PER_ATTEMPT = 3
# Entered and exited.
EVENTS_PER_STATE = 2
# Execution started and ended; branches begin and end.
EVENTS_AROUND = 10
# The choice between moving data and measuring alone.
ERRAND = "Is It to Measure or to Copy?"
# Copies between buckets have events for each unit of keys: tests/lambdas/core/copies/test_summary.py holds how many.
COPYING = {"Survey Buckets", "Copy Round"}
BUSY = "Lambda.TooManyRequestsException"
# Stages of a route.
MOST_STAGES = 4
# How often a state that a loop leads back to is entered at most: after each launch, and before the first; in each of
# them for the turn of each stage, and after each refusal.
ENTERED = {
    "Decide Relays": MOST_LAUNCHES + 1,
    "Wait for Its Turn": (MOST_LAUNCHES + 1) * (MOST_STAGES + MOST_REFUSALS + 1),
    # What only measures launches once: a relay in each region.
    "Wait for the Relays' Turn": MAX_TRANSIT_REGIONS + 2 + MOST_REFUSALS + 1,
    # A week that a transfer waits for a price.
    "Await Price": _looks(
        MOST_WAIT_SECONDS, lambda waited: price_wait.seconds_until_next_look(0.0, MOST_WAIT_SECONDS, waited)
    ),
    # A hundred million keys, of which S3 lists 1 000 in 100 ms.
    "List Archived": 1 + 100_000_000 // int(1_000 * ROUND_SECONDS / 0.1),
    "Await Restores": most_rounds(),
    # Once more when all is restored, and then not to what restores.
    "Is Anything to Be Restored?": 2,
}
# Its rounds fill the hours of a bounded wait, and so do tries: a round that is tried again takes the place of others.
HOURS_OF_WAITING = {"Restore Objects", "Await Price"}


# Only objects of buckets are restored, and no transfer of one waits for a price of the pool, or for its turn there.
RESTORING, OF_THE_POOL = {"List Archived", "Restore Objects"}, {"Await Price"}


def events_of_the_queue() -> int:
    """The most events of a transfer that waits for its turn at the pool: a task and two states for each look.

    A try that is made again takes the place of a look, since hours bound this wait.
    """
    looks = _looks(place_in_queue.LONGEST_SECONDS, lambda waited: place_in_queue.seconds_until_next_look(0.0, waited))
    return looks * (EVENTS_PER_ATTEMPT + 3 * EVENTS_PER_STATE)


def deployed_machine() -> dict[str, Any]:
    """The state machine of the synthesized template."""
    template = json.loads(Path("cdk.out/cpt-control.template.json").read_text())
    kind = "AWS::StepFunctions::StateMachine"
    found = next(resource for resource in template["Resources"].values() if resource["Type"] == kind)
    machine: dict[str, Any] = json.loads(found["Properties"]["DefinitionString"])
    return machine


def most_events(machine: dict[str, Any]) -> int:
    """Return the events if each state is entered as often as it may be, and each task tried as often as it may be.

    Of an execution that moves data, or of one that only measures, whichever has more: none passes both branches.
    Raises ValueError for a loop without a bound in `ENTERED`, or a Map over anything but a list: the history then grows
    with the data.
    """
    choice = machine["States"].get(ERRAND)
    if choice is None:
        return _most_events(machine["StartAt"], machine["States"])
    ways = [choice["Default"], *(one["Next"] for one in choice["Choices"])]
    ways = [way for way in ways if way not in COPYING]
    straight = [{**machine["States"], ERRAND: {"Type": "Choice", "Choices": [], "Default": way}} for way in ways]
    start = machine["StartAt"]
    queue = events_of_the_queue() if machine["States"].keys() >= OF_THE_POOL else 0
    of_machines = (_most_events(start, _without(states, RESTORING)) + queue for states in straight)
    of_buckets = (_most_events(start, _without(states, OF_THE_POOL)) for states in straight)
    return max(*of_machines, *of_buckets)


def _without(states: dict[str, Any], excluded: set[str]) -> dict[str, Any]:
    """The states where no choice leads to these."""

    def other(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "Choices": [one for one in state["Choices"] if one["Next"] not in excluded]}

    return {name: other(state) if "Choices" in state else state for name, state in states.items()}


def _most_events(start: str, all_states: dict[str, Any]) -> int:
    states = {name: all_states[name] for name in _reached(start, all_states)}
    entered = dict.fromkeys(states, 1)
    for looped, times in _loops(start, states, ()):
        entered |= {state: max(entered[state], times) for state in looped}
    again = {name: _events(_again(name, state)) * (entered[name] - 1) for name, state in states.items()}
    return EVENTS_AROUND + sum(_events(state) + again[name] for name, state in states.items())


def _reached(start: str, states: dict[str, Any]) -> set[str]:
    found, todo = set[str](), [start]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += _following(states[name])
    return found


def _again(name: str, state: dict[str, Any]) -> dict[str, Any]:
    """The state while functions may run: an account that is busy for hours is so once in an execution."""
    if name in HOURS_OF_WAITING:
        return {**state, "Retry": []}
    return {**state, "Retry": [retry for retry in state.get("Retry", []) if BUSY not in retry.get("ErrorEquals", [])]}


def _events(state: dict[str, Any]) -> int:
    if state["Type"] == "Map":
        if not isinstance(state.get("Items"), list):
            raise ValueError("a Map has events for each item")
        return EVENTS_PER_STATE + len(state["Items"]) * (EVENTS_PER_STATE + most_events(state["ItemProcessor"]))
    inside = sum(most_events(branch) for branch in state.get("Branches", []))
    attempts = 1 + sum(retry.get("MaxAttempts", 3) for retry in state.get("Retry", []))
    return EVENTS_PER_STATE + inside + (EVENTS_PER_ATTEMPT * attempts if state["Type"] == "Task" else 0)


def _loops(name: str, states: dict[str, Any], way: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the states of each loop, and how often they are entered at most."""
    if name not in way:
        for following in _following(states[name]):
            yield from _loops(following, states, (*way, name))
        return
    looped = way[way.index(name) :]
    times = [ENTERED[state] for state in looped if state in ENTERED]
    if not times:
        raise ValueError(f"{name} follows itself: {' → '.join((*way, name))}")
    yield looped, min(times)


def _following(state: dict[str, Any]) -> Iterator[str]:
    for holder in (state, *state.get("Choices", []), *state.get("Catch", [])):
        if "Next" in holder and holder["Next"] not in COPYING:
            yield holder["Next"]
    if "Default" in state:
        yield state["Default"]
