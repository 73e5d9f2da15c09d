"""A survey that is ended while its mark lies in the destination: whoever comes next takes the mark away."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.errors import CommandFailed, TransferFenced
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.seats.commands import Command
from lambdas.core.survey.whereabouts import Whereabouts
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations import teardown
from lambdas.operations.intake.apart import check_apart
from tests.lambdas.builders import ARN, DESTINATION_ID, IRELAND, WEST, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.intake.test_overlap import OURS, THEIRS
from tests.lambdas.machines import failed, printed
from tests.lambdas.operations.intake.test_apart import ALIKE, HEAD

Done = TypeVar("Done")


class Ended(BaseException):
    """Of the function: it runs nothing any more, not even what it has meant to do at its end."""


class Survey:
    """Looks for the mark at the source; the function is ended, or the daemon killed, at one of its steps.

    Steps are counted from 1: the record's changes, and the commands, each ended right after what it has done.
    """

    def __init__(self, *, ends_at: int = 0, killed_at: int = 0) -> None:
        self.cloud, self.step = Cloud(), 0
        self.ends_at, self.killed_at = ends_at, killed_at
        self.marks: set[str] = set()
        self.seen_at_once: list[int] = []
        self.cloud.commands[WEST].scripts["scan"] = self._look
        self.cloud.commands[IRELAND].scripts["scan"] = self._mark
        self.cloud.transfers.create(transfer())
        self._change = self.cloud.transfers.change
        self.cloud.transfers.change = self._note  # type: ignore[assignment,method-assign]

    def check(self, mine: AcceptedTransfer) -> None:
        """Whether source and destination are apart, as far as the function comes."""
        destination = survey().destination.model_copy(update={"ways": [ALIKE[1]], "kernel": THEIRS})
        check_apart(mine, OURS, [Whereabouts(path="/x%20y", ways=[ALIKE[0]])], destination, self.cloud.world)

    def goes_on(self) -> None:
        """In another function, which nobody ends."""
        self.ends_at = self.killed_at = 0

    def _note(self, mine: AcceptedTransfer, change: transfer_life.Change) -> TransferRecord | None:
        return self._counted(lambda: self._change(mine, change))

    def _mark(self, command: Command | None) -> CommandResult:
        assert command is not None

        def mark() -> CommandResult:
            (self.marks.add if command["present"] else self.marks.discard)(command["name"])
            self.seen_at_once.append(len(self.marks))
            is_killed = self.step == self.killed_at
            told = printed({**HEAD, "side": "mark", "present": command["present"]})
            return failed("killed by signal 9") if is_killed else told

        return self._counted(mark)

    def _look(self, command: Command | None) -> CommandResult:
        assert command is not None
        return self._counted(lambda: printed({**HEAD, "side": "marked", "seen": False}))

    def _counted(self, do: Callable[[], Done]) -> Done:
        if 0 < self.ends_at <= self.step:
            raise Ended
        self.step += 1
        done = do()
        if self.step == self.ends_at:
            raise Ended
        return done


# Name noted, mark put, looked for, mark taken away, name forgotten.
STEPS = 5


def next_attempt(ended: Survey) -> None:
    ended.check(transfer())


def torn_down(ended: Survey) -> None:
    record = ended.cloud.transfers.get("first")
    assert record is not None
    teardown.tear_down(ended.cloud.world, record)


def next_run(ended: Survey) -> None:
    """Where the machine could not be told at the end of the first one."""
    machine = ended.cloud.compute[IRELAND].machines[DESTINATION_ID]
    machine.agent = False
    torn_down(ended)
    machine.agent = True
    ended.cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
    again = transfer(arn=f"{ARN}-2").model_copy(update={"run": 2})
    # One that failed before it had a plan begins anew; a run that follows it has what the record says of marks.
    assert ended.cloud.transfers.resume(again)
    ended.check(again)


@pytest.mark.parametrize("comes", [next_attempt, torn_down, next_run])
@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_function_that_ends_at_any_step_leaves_no_mark_for_long(step: int, comes: Callable[[Survey], None]) -> None:
    ended = Survey(ends_at=step)
    with pytest.raises(Ended):
        ended.check(transfer())
    assert len(ended.marks) == (1 if step in (2, 3) else 0), "it is ended while the mark is there"
    ended.goes_on()
    comes(ended)
    assert ended.marks == set()
    assert max(ended.seen_at_once, default=0) <= 1


def test_a_daemon_that_is_killed_once_its_mark_is_there_leaves_none() -> None:
    killed = Survey(killed_at=2)
    with pytest.raises(CommandFailed, match="signal 9"):
        killed.check(transfer())
    assert killed.seen_at_once == [1, 0]


def test_none_is_put_once_the_transfer_is_being_taken_down() -> None:
    """Stopping an execution cancels no function: the survey goes on while the teardown looks for what it has left."""
    stopped = Survey()
    torn_down(stopped)
    with pytest.raises(TransferFenced, match="first is being taken down"):
        stopped.check(transfer())
    assert (stopped.marks, stopped.seen_at_once) == (set(), [])


def test_a_survey_takes_its_own_mark_away_though_somebody_has_forgotten_its_name() -> None:
    survey = Survey()
    survey.cloud.commands[WEST].scripts["scan"] = lambda _: _forgotten(survey)
    survey.check(transfer())
    assert (survey.marks, survey.seen_at_once) == (set(), [1, 0])


def _forgotten(survey: Survey) -> CommandResult:
    survey.cloud.transfers.change(transfer(), transfer_life.note(marks=[]))
    return printed({**HEAD, "side": "marked", "seen": False})


def test_nobody_is_asked_about_marks_where_there_are_none() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    record = cloud.transfers.get("first")
    assert record is not None
    teardown.tear_down(cloud.world, record)
    assert "scan" not in [document for document, _, _ in cloud.commands[IRELAND].sent]
