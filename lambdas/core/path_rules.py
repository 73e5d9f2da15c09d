"""The rules of a request's paths that a schema cannot say."""

import json

from lambdas.core.end_kinds.machine import landing_name
from lambdas.core.selection import Selection

# A machine gets its command as one variable, which Linux limits to 131 072 bytes: in base64 90 000 bytes are 120 000.
PATHS_BYTES = 90_000


def problems(sources: list[str], destination: str, select: Selection) -> list[str]:
    """One line for each: field, value, what would be right."""
    found = [problem for i, path in enumerate(sources) for problem in _dots(f"$.source.paths[{i}]", path)]
    found += _dots("$.destination.path", destination)
    return found + _collisions(sources) + _too_long_together(sources, select)


def _dots(where: str, path: str) -> list[str]:
    if ".." in path.split("/"):
        return [f"{where}: '{path}' contains '..'; give the path without it"]
    return []


def _too_long_together(paths: list[str], select: Selection) -> list[str]:
    told = select.command(0.0)
    size, rules = len(json.dumps(paths)), len(json.dumps(told)) if told else 0
    if size + rules <= PATHS_BYTES:
        return []
    if size <= rules:
        return [
            f"$.select: the rules are {rules} bytes of JSON, and {PATHS_BYTES} reach the machine with the paths; write "
            "fewer, or list the paths in a file for $.select.pathsFrom"
        ]
    return [
        f"$.source.paths: {len(paths)} paths are {size} bytes of JSON together, and {PATHS_BYTES} reach the machine; "
        "name a directory above them, or move them in several transfers"
    ]


def _collisions(paths: list[str]) -> list[str]:
    """Two paths that land under one name. What paths that end with a slash bring, the survey of the source knows."""
    seen: dict[str, int] = {}
    problems = []
    for i, path in enumerate(paths):
        name = landing_name(path)
        if name is None:
            continue
        if name in seen:
            problems.append(
                f"$.source.paths[{i}]: '{path}' and '{paths[seen[name]]}' both land as '{name}'; "
                "move them in two transfers to two destinations"
            )
        seen.setdefault(name, i)
    return problems
