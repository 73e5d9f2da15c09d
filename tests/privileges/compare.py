"""Granted against used."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.privileges.exceptions import EXCEPTIONS
from tests.privileges.grants import Grant, Role
from tests.privileges.unused import Unused


@dataclass
class Comparison:
    """What `compare` found; without an entry in the last four nothing is amiss."""

    used: set[Grant] = field(default_factory=set)
    excused: dict[Grant, Unused] = field(default_factory=dict)
    unexplained: list[Grant] = field(default_factory=list)
    """Granted, never used, and no exception says why."""
    needless: list[Unused] = field(default_factory=list)
    """Exceptions that speak for no unused grant."""
    gone: list[Grant] = field(default_factory=list)
    """Recorded as used, and granted no more."""


def compare(roles: dict[str, Role], used: set[Grant], exceptions: Iterable[Unused] = EXCEPTIONS) -> Comparison:
    """Each grant is used, or an exception speaks for it."""
    granted = {grant for role in roles.values() for grant in role.grants}
    found = Comparison(used=granted & used, gone=sorted(used - granted))
    for grant in sorted(granted - used):
        if entry := next((entry for entry in exceptions if entry.covers(grant)), None):
            found.excused[grant] = entry
        else:
            found.unexplained.append(grant)
    found.needless = [entry for entry in exceptions if entry not in found.excused.values()]
    return found
