"""The limit of open files: a process raises its soft limit to the hard one, and says if that is too low."""

import resource

# Twice the usual soft limit, which is 1 024 for programs that call `select`.
LEAST = 2_048


class OpenFilesError(Exception):
    """The hard limit is too low; the message says how low, and what to do."""


def raise_limit(needs: int = LEAST, what: str = "the local cloud") -> int:
    """Raise this process' soft limit to the hard one and return it. Raises OpenFilesError below `needs`."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY and hard < needs:
        raise OpenFilesError(
            f"{what} needs {needs} open files, and the hard limit is {hard} (`ulimit -Hn`): "
            f"raise it to {needs} or more, as root or in /etc/security/limits.conf"
        )
    return hard
