"""What a recording of `make aws-smoke` has that another one has not: members, types, enumerated values, error codes.

Placeholders stand for strings, so only values that botocore's models list are compared as values. Times are not.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Call = tuple[str, tuple[str, ...]]


def differences(recorded: Mapping[str, Any], seen: Mapping[str, Any]) -> list[str]:
    """One line for each; `accepted` of the recording names lines that are known, each with its reason."""
    answered: dict[Call, dict[str, set[str]]] = {}
    for call in seen["calls"]:
        answered.setdefault(_key(call), {}).update(_facts(call))
    found = []
    for call in recorded["calls"]:
        name = f"{call['operation']}({', '.join(sorted(call['request']))})"
        facts = answered.get(_key(call))
        if facts is None:
            found.append(f"{name}: not called")
            continue
        for path, values in _facts(call).items():
            if path not in facts:
                found.append(f"{name}: {path} is missing")
            elif missing := values - facts[path]:
                found.append(f"{name}: {path} is {', '.join(sorted(facts[path]))}, not {', '.join(sorted(missing))}")
    return [line for line in found if line not in recorded["accepted"]]


def _key(call: Mapping[str, Any]) -> Call:
    return call["operation"], tuple(sorted(call["request"]))


def _facts(call: Mapping[str, Any]) -> dict[str, set[str]]:
    """Type and enumerated values by path; an error is a fact too."""
    if "error" in call:
        return {f"error {call['error']}": set()}
    facts: dict[str, set[str]] = {}
    for path, fact in _walk(call["response"], ""):
        facts.setdefault(path, set()).add(fact)
    return facts


def _walk(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, one in value.items():
            # Keys of a map are somebody's names.
            yield from _walk(one, f"{path}.{'*' if name.startswith('<') else name}".lstrip("."))
    elif isinstance(value, list):
        yield path, "a list"
        for one in value:
            yield from _walk(one, f"{path}[]")
    elif isinstance(value, str) and not value.startswith("<"):
        yield path, value
    else:
        yield path, f"a {type(value).__name__}"
