"""An exception: a grant that no recorded run uses, and the reason for which it is granted all the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.privileges.grants import Grant


@dataclass(frozen=True)
class Unused:
    """Unused grants whose role, action and resource match; `*` stands for anything."""

    role: str
    action: str
    resource: str
    why: str
    held_by: str = ""
    """The test that makes the call all the same, on a cloud in memory: `FILE::TEST` below `tests/`."""

    def covers(self, grant: Grant) -> bool:
        """Whether this entry speaks for a grant."""
        pairs = ((grant.role, self.role), (grant.action, self.action), (grant.resource, self.resource))
        return all(fnmatchcase(value, pattern) for value, pattern in pairs)


def unused(roles: str, actions: str, why: str, held_by: str = "", on: str = "*") -> Iterator[Unused]:
    """An entry for each of `roles` and each of `actions`, both separated by blanks."""
    for role in roles.split():
        for action in actions.split():
            yield Unused(role, action, on, why, held_by)
