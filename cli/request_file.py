"""A transfer request in a file."""

import json
from pathlib import Path
from typing import Any

import typer

from cli.console import say
from cli.exit_codes import ExitCode

# A request has half as many; what walks through it calls itself once a level.
MOST_NESTED = 16


class _TwiceError(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def read_request(path: Path) -> dict[str, Any]:
    """The request in a file; ends the command where it holds none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_each_key_once)
        if _depth(document) > MOST_NESTED:
            raise RecursionError
    except RecursionError:
        say(f"cpt: {path} is nested too deep; a transfer request has {MOST_NESTED} levels at most", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    except _TwiceError as error:
        say(f"cpt: {path} has the key {json.dumps(error.key)} twice in one object; leave one of them out", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    except ValueError as error:
        say(f"cpt: {path} is not JSON: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from error
    if not isinstance(document, dict):
        say(f"cpt: {path} holds {type(document).__name__}; a transfer request is a JSON object", err=True)
        raise typer.Exit(ExitCode.USAGE)
    return document


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON has no word on a key that comes twice, and Python's reader would take the last one silently."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(key)
        found[key] = value
    return found


def _depth(value: Any) -> int:
    """Levels of objects and lists, without calling itself."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth
