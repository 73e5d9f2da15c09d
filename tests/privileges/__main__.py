"""`make privileges`: granted against used. Takes what recorded runs wrote, keeps it, and draws docs/security.md anew.

    python -m tests.privileges [--anew] [FILE…]

With --anew earlier records count no longer; without it the files add to them. Exits 1 when something is amiss.
"""

import sys
from pathlib import Path

from tests.privileges.compare import Comparison, compare
from tests.privileges.grants import Grant, Role, read_roles
from tests.privileges.network import read_groups
from tests.privileges.page import PAGE, drawn
from tests.privileges.recorded import read_recorded, read_runs, write_recorded


def main(arguments: list[str]) -> int:
    """The exit code."""
    files = [Path(name) for name in arguments if name != "--anew"]
    roles = read_roles()
    used = ({} if "--anew" in arguments else read_recorded()) | read_runs(files, roles)
    granted = {grant for role in roles.values() for grant in role.grants}
    # Functions' own logs are every function's; the emulator asks for them by the group, which no real call names alone.
    used = {grant: call for grant, call in used.items() if grant in granted and not is_own_log(grant)}
    write_recorded(used)
    found = compare(roles, set(used))
    PAGE.write_text(drawn(PAGE.read_text(), roles, read_groups(), found))
    tell(roles, found)
    return 1 if found.unexplained or found.needless else 0


def is_own_log(grant: Grant) -> bool:
    """Whether it is that of a function to write its own log."""
    return grant.action.startswith("logs:") and "/aws/lambda/" in grant.resource


def tell(roles: dict[str, Role], found: Comparison) -> None:
    """A table by role, then what is amiss."""
    print(f"{'role':<30}{'granted':>8}{'used':>6}{'excused':>9}{'amiss':>7}")
    for role in roles.values():
        used, excused = len(role.grants & found.used), len(role.grants & found.excused.keys())
        total = len(role.grants)
        print(f"{role.name:<30}{total:>8}{used:>6}{excused:>9}{total - used - excused:>7}")
    for grant in found.unexplained:
        print(f"never used: {grant}")
    for entry in found.needless:
        print(f"needless exception: {entry.role} {entry.action} {entry.resource}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
