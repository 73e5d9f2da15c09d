"""What recorded runs have used: `recorded.tsv`, one grant and one call a line, made by `make privileges`."""

import json
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path
from typing import Any

from tests.privileges.grants import Grant, Role, condition_of, plain

FILE = Path(__file__).with_name("recorded.tsv")
# Characters after the hyphen; AWS adds twelve, and the local cloud thirteen.
SUFFIX = 13

Calls = dict[Grant, dict[str, Any]]
"""`{"resource", "region", "context"}` of one call that each grant has allowed."""


def read_recorded(file: Path = FILE) -> Calls:
    """The grants that were used, each with a call that it allowed."""
    lines = file.read_text().splitlines() if file.exists() else []
    found = [line.split("\t") for line in lines]
    return {Grant(*fields[:4]): json.loads(fields[4]) for fields in found}


def write_recorded(used: Calls, file: Path = FILE) -> None:
    """One grant a line, in order."""
    lines = ((*astuple(grant), json.dumps(call, sort_keys=True)) for grant, call in sorted(used.items(), key=_grant))
    file.write_text("".join("\t".join(fields) + "\n" for fields in lines))


def read_runs(files: Iterable[Path], roles: dict[str, Role]) -> Calls:
    """Grants in what the local cloud wrote (`local/patches/privileges.py`); roles that are not ours are left out."""
    found: Calls = {}
    for line in (line for file in files for line in file.read_text().splitlines()):
        use = json.loads(line)
        if role := _role(use["role"], roles):
            grant = Grant(role, use["action"], plain(use["resource"]), condition_of(use["condition"]))
            found.setdefault(grant, use["call"])
    return found


def _grant(item: tuple[Grant, Any]) -> Grant:
    return item[0]


def _role(physical: str, roles: dict[str, Role]) -> str | None:
    """CloudFormation adds a suffix to a name that it makes, and shortens what is before it, a hyphen too, to fit."""
    names = {name: role.name for role in roles.values() for name in role.physical}
    if physical in names:
        return names[physical]
    stem = physical[:-SUFFIX].rstrip("-")
    found = {role for name, role in names.items() if stem and name.startswith(stem)}
    return found.pop() if len(found) == 1 else None
