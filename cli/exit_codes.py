"""Exit codes of the command line; `contracts/failures.json` has that of each failure, docs/use.md lists them all."""

from enum import IntEnum
from typing import Any

from lambdas.core.failures import FAILURES


class ExitCode(IntEnum):
    """Exit codes for scripts to decide on."""

    SUCCEEDED = 0
    OUTPUT = 1  # what it has to say cannot be written
    USAGE = 2  # the command line or the request's file
    REQUEST = 3  # the request must be changed: AskPerson; or has to wait for another transfer
    TRANSFER = 4  # the transfer failed; what is not delivered is named in the report
    STOPPED = 5  # stopped or timed out from outside
    REJECTED = 6  # a person said no
    UNANSWERED = 7  # nobody approved in time
    AWS = 8  # AWS refused a call of this command, or did not answer; nothing is known of the transfer
    UNFIT = 9  # cpt doctor: transfers fail because of what it found; cpt leave: something keeps the stacks
    SKIPPED = 10  # succeeded without the files that the report names, as onProblem "skip" allows
    INTERRUPTED = 130  # nobody watches any more; the transfer goes on


def exit_code(report: dict[str, Any]) -> ExitCode:
    """The code for a report, or for what the execution itself says where there is none."""
    if report["status"] == "SUCCEEDED":
        return ExitCode.SUCCEEDED
    if report["status"] == "SUCCEEDED_WITH_SKIPS":
        return ExitCode.SKIPPED
    if report["status"] in ("ABORTED", "TIMED_OUT"):
        return ExitCode.STOPPED
    return of_error(str(report.get("error")))


def of_error(name: str) -> ExitCode:
    """The code for an error by its name, as state machine, functions and reports give it."""
    return ExitCode(FAILURES[name].exit_code) if name in FAILURES else ExitCode.TRANSFER
