"""The rules of a request's paths that a schema cannot say."""

import json

from lambdas.core.ends.landing import is_or_holds
from lambdas.core.ends.paths import NamedPath, landing_of, path_of
from lambdas.core.request.selection import Selection

# A machine gets its command as one variable, which Linux limits to 131 072 bytes: in base64 90 000 bytes are 120 000.
PATHS_BYTES = 90_000


def problems(sources: list[str | NamedPath], destination: str, select: Selection) -> list[str]:
    """One line for each: field, value, what would be right."""
    found = [problem for i, path in enumerate(sources) for problem in _dots(_field(i, path), path_of(path))]
    found += _dots("$.destination.path", destination)
    return found + _collisions(sources) + _too_long_together(sources, select)


def _field(number: int, path: str | NamedPath) -> str:
    return f"$.source.paths[{number}]" + (".path" if isinstance(path, NamedPath) else "")


def _dots(where: str, path: str) -> list[str]:
    if ".." in path.split("/"):
        return [f"{where}: '{path}' contains '..'; give the path without it"]
    return []


def _too_long_together(paths: list[str | NamedPath], select: Selection) -> list[str]:
    told = select.command(0.0)
    named = [path.lands_as for path in paths if isinstance(path, NamedPath)]
    written = [path if isinstance(path, str) else path.to_document() for path in paths]
    # The destination is told of these thrice: what is mirrored, what each path brings, which directories lead there.
    size, rules = (
        len(json.dumps(written)) + 2 * sum(map(len, map(json.dumps, named))),
        len(json.dumps(told)) if told else 0,
    )
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


def _collisions(paths: list[str | NamedPath]) -> list[str]:
    """Two paths that land under one name, or one below the other, as far as the request tells.

    What paths that end with a slash bring, the survey of the source knows.
    """
    seen: list[tuple[str | NamedPath, str, bool]] = []
    problems = []
    for i, path in enumerate(paths):
        name = landing_of(path)
        if name is None:
            continue
        is_contents = path_of(path).endswith("/")
        for other, there, holds_contents in seen:
            if is_contents and holds_contents:
                continue
            if name == there:
                how = f"both land as '{name}'"
            elif (is_or_holds(there, name) and not holds_contents) or (is_or_holds(name, there) and not is_contents):
                how = f"land as '{name}' and '{there}', one below the other"
            else:
                continue
            problems.append(
                f"$.source.paths[{i}]: '{path_of(path)}' and '{path_of(other)}' {how}; give one of them another "
                'path to land as, e.g. {"path": "/data/set", "as": "2026/set"}'
            )
            break
        else:
            seen.append((path, name, is_contents))
    return problems
