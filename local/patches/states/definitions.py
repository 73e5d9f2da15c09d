"""What Step Functions refuses of a definition that parses: no way on, no such target, two states of one name.

Source: Amazon States Language (states-language.net), and Step Functions' API reference, `InvalidDefinition`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from local.patches.states.engine import JException, Jsonata

Json = dict[str, Any]
SCHEMA, TARGET, NAMES = "SCHEMA_VALIDATION_FAILED", "MISSING_TRANSITION_TARGET", "DUPLICATE_STATE_NAME"
MOST_OF_NAME = 80
_TYPES = frozenset({"Pass", "Task", "Choice", "Wait", "Succeed", "Fail", "Parallel", "Map"})
_WITHOUT_NEXT = frozenset({"Choice", "Succeed", "Fail"})
_SECONDS = ("TimeoutSeconds", "HeartbeatSeconds")


def problems(definition: Json) -> list[str]:
    """One line for each, as Step Functions writes them; a definition without any is taken."""
    language = str(definition.get("QueryLanguage", "JSONPath"))
    found = [*_of_machine(definition, "", language)]
    counted = Counter(name for name, _, _ in _states(definition, ""))
    return found + [f"{NAMES}: Duplicate state name: {name}" for name, count in counted.items() if count > 1]


def _states(machine: Json, at: str) -> Iterator[tuple[str, Json, str]]:
    """Name, state and place of all states, those in branches and maps too."""
    for name, state in machine.get("States", {}).items():
        yield name, state, f"{at}/States/{name}"
        for inner, place in _inner(state, f"{at}/States/{name}"):
            yield from _states(inner, place)


def _inner(state: Json, at: str) -> Iterator[tuple[Json, str]]:
    """The machines within a state."""
    for number, branch in enumerate(state.get("Branches", [])):
        yield branch, f"{at}/Branches[{number}]"
    for key in ("ItemProcessor", "Iterator"):
        if key in state:
            yield state[key], f"{at}/{key}"


def _of_machine(machine: Json, at: str, language: str) -> Iterator[str]:
    states = machine["States"]
    if machine["StartAt"] not in states:
        yield f"{TARGET}: Missing 'Next' target: {machine['StartAt']} at {at}/StartAt"
    for name, state in states.items():
        place = f"{at}/States/{name}"
        if len(name) > MOST_OF_NAME:
            yield f"{SCHEMA}: The state name must have {MOST_OF_NAME} characters at most at {place}"
        yield from _of_state(state, place)
        for target, where in _targets(state, place):
            if target not in states:
                yield f"{TARGET}: Missing 'Next' target: {target} at {where}"
        spoken = str(state.get("QueryLanguage", language))
        if spoken == "JSONata":
            yield from _of_expressions({key: value for key, value in state.items() if key not in _MACHINES}, place)
        for inner, inside in _inner(state, place):
            yield from _of_machine(inner, inside, language)


_MACHINES = frozenset({"Branches", "ItemProcessor", "Iterator"})


def _of_state(state: Json, at: str) -> Iterator[str]:
    kind = state.get("Type")
    if kind not in _TYPES:
        yield f"{SCHEMA}: The field 'Type' should have one of these values: {sorted(_TYPES)} at {at}/Type"
        return
    ends = [key for key in ("Next", "End") if key in state]
    if kind in _WITHOUT_NEXT:
        yield from (f"{SCHEMA}: Field is not supported at {at}/{key}" for key in ends)
    elif "Next" not in state and state.get("End") is not True:
        yield f"{SCHEMA}: Either 'Next' or 'End': true is required at {at}"
    if kind == "Choice" and not state.get("Choices"):
        yield f"{SCHEMA}: A non-empty list of 'Choices' is required at {at}"
    for key in _SECONDS:
        seconds = state.get(key)
        if isinstance(seconds, int) and seconds < 1:
            yield f"{SCHEMA}: The value should be at least 1 at {at}/{key}"


def _targets(state: Json, at: str) -> Iterator[tuple[str, str]]:
    """Names of the states that may come next, and where each is named."""
    for key in ("Next", "Default"):
        if key in state:
            yield state[key], f"{at}/{key}"
    for key in ("Choices", "Catch"):
        for number, rule in enumerate(state.get(key, [])):
            if "Next" in rule:
                yield rule["Next"], f"{at}/{key}[{number}]/Next"


def _of_expressions(value: Any, at: str) -> Iterator[str]:
    """JSONata within `{% %}`, wherever a state has it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _of_expressions(inner, f"{at}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _of_expressions(inner, f"{at}[{number}]")
    elif isinstance(value, str) and value.startswith("{%") and value.endswith("%}"):
        try:
            Jsonata(value[2:-2].strip())
        except JException as error:
            yield f"{SCHEMA}: The JSONata expression is not valid: {error} at {at}"
