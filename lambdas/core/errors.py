"""Errors: the base class is the decision, the class name is what the state machine catches.

`contracts/failures.json` says what each one means and what to do about it; a test compares the two.
"""
# ruff: noqa: N818, D101  the names are those of the state machine's ErrorEquals; the contract explains them


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
    """One line per problem: field, value, what would be right; `then` says below them how to start again."""

    def __init__(self, problems: list[str] | str, then: str | None = None) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join([*self.problems, *([then] if then else [])]))


class DestinationBusy(AskPerson): ...


class PathUnreachable(AskPerson): ...


class SurveyProblem(AskPerson): ...


class DestinationTooSmall(AskPerson): ...


class EmptySource(AskPerson): ...


class DeletionRefused(AskPerson): ...


class RestoreRefused(AskPerson): ...


class RestoreOverdue(AskPerson): ...


class DeletionIncomplete(AskPerson): ...


class DeadlineUnreachable(AskPerson): ...


class BudgetTooSmall(AskPerson): ...


class BudgetReached(AskPerson): ...


class MissingPrice(AskPerson): ...


class InvalidApproval(AskPerson): ...


class NotAwaitingApproval(AskPerson): ...


class NoSuchTransfer(AskPerson): ...


class NotMoving(AskPerson): ...


class TransferRunning(AskPerson): ...


class ApprovalRejected(AskPerson): ...


class ApprovalTimedOut(AskPerson): ...


class NoSuitableType(AskPerson): ...


class TooManyRules(AskPerson): ...


class MissingPermission(AskPerson): ...


class DaemonVersionSkew(FailTransfer): ...


class RecordOfOtherVersion(FailTransfer): ...


class CommandFailed(FailTransfer): ...


class EndNotStarted(FailTransfer): ...


class EndGone(FailTransfer): ...


class EndSilent(FailTransfer): ...


class FileSystemHangs(FailTransfer): ...


class MeasuringFailed(FailTransfer): ...


class VerificationFailed(FailTransfer): ...


class FilesSkipped(FailTransfer): ...


class DestinationFull(FailTransfer): ...


class TransferFenced(FailTransfer): ...


class TeardownIncomplete(RetryLater): ...


class Throttled(RetryLater): ...


class TransferEnding(RetryLater): ...


class DestinationTaken(RetryLater): ...


class PlanGoesOn(RetryLater): ...


class UnitGoesOn(RetryLater): ...


class WriteConflict(RetryLater): ...


class AgentBusy(RetryLater): ...


class DeletionInterrupted(RetryLater): ...


class LaunchRefused(FailTransfer): ...


class NoCapacity(ReplaceNode): ...


class RelayUnusable(ReplaceNode): ...
