"""Errors; the base class is the decision, the class name is what the state machine catches."""
# ruff: noqa: N818  the names are those of the state machine's ErrorEquals


class CptError(Exception):
    """Base of all errors that this project raises on purpose."""


class RetryLater(CptError):
    """The same call may work in a while: the state machine retries."""


class ReplaceNode(CptError):
    """One relay is of no use; go on with another, or with one fewer."""


class FailTransfer(CptError):
    """The transfer cannot go on; tear down and report."""


class AskPerson(FailTransfer):
    """The request must be changed by whoever made it; the message says how."""


class InvalidRequest(AskPerson):
    """One line per problem: field, value, what would be right."""

    def __init__(self, problems: list[str] | str) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class DestinationBusy(AskPerson):
    """Another running transfer writes to an overlapping path, or the machine receives as many as it can."""


class PathUnreachable(AskPerson):
    """The destination does not answer on the port of the data plane."""


class SurveyProblem(AskPerson):
    """A source path cannot be read, or the destination cannot be written."""


class DestinationTooSmall(AskPerson):
    """Fewer bytes or inodes free than the source needs."""


class DeadlineUnreachable(AskPerson):
    """No number of pairs meets `objective.deadlineSeconds`."""


class BudgetTooSmall(AskPerson):
    """Not even the direct path fits into `objective.maxCostUsd`."""


class BudgetReached(AskPerson):
    """What is left of `objective.maxCostUsd` does not last until the next look at the meter; what has arrived stays."""


class MissingPrice(AskPerson):
    """An instance type has no price anywhere; the message names type and region."""


class InvalidApproval(AskPerson):
    """The answer names no row of the estimate, or one above the budget."""


class NotAwaitingApproval(AskPerson):
    """There is no transfer of that name that waits for a person."""


class NoSuchTransfer(AskPerson):
    """There is no record of a transfer of that name."""


class NotMoving(AskPerson):
    """What was asked for can be done only to a transfer that moves data."""


class TransferRunning(AskPerson):
    """What was asked for is done to transfers that do not run any more, or with consent."""


class ApprovalRejected(AskPerson):
    """A person rejected the estimate; the message is their reason."""


class ApprovalTimedOut(AskPerson):
    """Nobody answered within `approvalTimeoutSeconds`."""


class NoSuitableType(AskPerson):
    """Relays were asked for, and no allowed instance type can be one."""


class TooManyRules(AskPerson):
    """A security group has no room for another rule."""


class MissingPermission(AskPerson):
    """An IAM permission is missing; the message names it."""


class DaemonVersionSkew(FailTransfer):
    """Both ends must run the same version of cpt-relay."""


class RecordOfOtherVersion(FailTransfer):
    """Another version of this deployment wrote the transfer's records; they are taken down, and not read."""


class CommandFailed(FailTransfer):
    """An SSM command ended badly; the message holds the tail of its output."""


class EndNotStarted(FailTransfer):
    """Sender or receiver did not come up."""


class EndSilent(FailTransfer):
    """Sender or receiver fell silent, and starting it again did not help as often as it may."""


class FileSystemHangs(FailTransfer):
    """Calls of the destination's file system do not return; starting the receiver again did not help."""


class MeasuringFailed(FailTransfer):
    """A profiling execution could not measure a pair of relays or the direct path."""


class VerificationFailed(FailTransfer):
    """A chunk is not delivered or a file's digests differ."""


class FilesSkipped(FailTransfer):
    """Entries with a problem of their own were left out; the message names the first. Everything else is delivered."""


class DestinationFull(FailTransfer):
    """The destination took nothing for a minute: no room, no quota, read-only, or failing; what it said."""


class TransferFenced(FailTransfer):
    """The transfer is being torn down: start nothing more."""


class TeardownIncomplete(RetryLater):
    """Instances of the transfer are still alive after the last look."""


class Throttled(RetryLater):
    """AWS asked to slow down for longer than the client's own retries last."""


class TransferEnding(RetryLater):
    """What of that name ran before is still being taken down: the state machine looks again, for five minutes."""


class DestinationTaken(RetryLater):
    """As DestinationBusy, for a request that waits: the state machine looks again, for 12 hours."""


class PlanGoesOn(RetryLater):
    """The function's time is up before the listing's end: another invocation goes on with the plan."""


class WriteConflict(RetryLater):
    """Another writer changed a record first, several times in a row."""


class LaunchRefused(FailTransfer):
    """EC2 refuses the launch for a reason that another type or a retry does not cure."""


class NoCapacity(ReplaceNode):
    """No allowed instance type can be launched."""


class RelayUnusable(ReplaceNode):
    """A relay died or did not start its daemon."""
