"""Exit codes by class of failure; listed in docs/use.md."""

from enum import IntEnum
from typing import Any

from lambdas.core import errors


class ExitCode(IntEnum):
    """What a script can decide on."""

    SUCCEEDED = 0
    USAGE = 2  # the command line or the request's file
    REQUEST = 3  # the request must be changed: AskPerson; or has to wait for another transfer
    TRANSFER = 4  # the transfer failed; what is not delivered is named in the report
    STOPPED = 5  # stopped or timed out from outside
    REJECTED = 6  # a person said no
    UNANSWERED = 7  # nobody approved in time
    AWS = 8  # AWS refused a call of this command, or did not answer; nothing is known of the transfer
    UNFIT = 9  # cpt doctor found something because of which transfers fail
    SKIPPED = 10  # succeeded without the files that the report names, as onProblem "skip" allows


# As the report of an execution names what ended it.
_FROM_OUTSIDE = ("ExecutionAborted", "ExecutionTimedOut", "ExecutionGone")
# The request was right, and data was moved; what is not delivered is named.
_IN_PART = (errors.FilesSkipped, errors.DestinationFull)
# The workflow has waited for another transfer in vain: nothing was started, so nothing is undelivered.
_IN_VAIN = (errors.DestinationTaken, errors.TransferEnding)


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
    if name in _FROM_OUTSIDE:
        return ExitCode.STOPPED
    error = getattr(errors, name, None)
    if error in _IN_PART:
        return ExitCode.TRANSFER
    if error is errors.ApprovalRejected:
        return ExitCode.REJECTED
    if error is errors.ApprovalTimedOut:
        return ExitCode.UNANSWERED
    asks = isinstance(error, type) and issubclass(error, (errors.AskPerson, *_IN_VAIN))
    return ExitCode.REQUEST if asks else ExitCode.TRANSFER
