"""What recorded runs have used: `recorded.tsv`, one grant a line, made by `make privileges`."""

import json
from collections.abc import Iterable
from pathlib import Path

from tests.privileges.grants import Grant, Role, condition_of, plain

FILE = Path(__file__).with_name("recorded.tsv")


def read_recorded(file: Path = FILE) -> set[Grant]:
    """The grants that were used."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {Grant(*f"{line}\t".split("\t")[:4]) for line in lines}


def write_recorded(used: Iterable[Grant], file: Path = FILE) -> None:
    """One grant a line, in order."""
    file.write_text("".join(f"{grant}\n" for grant in sorted(used)))


def read_runs(files: Iterable[Path], roles: dict[str, Role]) -> set[Grant]:
    """Grants in what the local cloud wrote (`local/patches/privileges.py`); roles that are not ours are left out."""
    found: set[Grant] = set()
    for line in {line for file in files for line in file.read_text().splitlines()}:
        use = json.loads(line)
        if role := _role(use["role"], roles):
            found.add(Grant(role, use["action"], plain(use["resource"]), condition_of(use["condition"])))
    return found


def _role(physical: str, roles: dict[str, Role]) -> str | None:
    """CloudFormation adds a suffix to a name that it makes, and shortens what is before it to fit."""
    names = {name: role.name for role in roles.values() for name in role.physical}
    if physical in names:
        return names[physical]
    stem = physical.rpartition("-")[0]
    found = {role for name, role in names.items() if stem and name.startswith(stem)}
    return found.pop() if len(found) == 1 else None
