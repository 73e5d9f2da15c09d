"""What an execution that was stopped still does, once a later one goes on with its transfer: that loses nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from lambdas.adapters.records import CommandResult, ControlToken
from lambdas.core.errors import EndNotStarted, TransferFenced
from lambdas.core.intake.destination_lock import Busy
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome, TransferRecord
from lambdas.core.seats.commands import Command
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.failure import Failure
from lambdas.handlers.reactions.sweep_execution import sweep_execution
from lambdas.handlers.states.await_approval import AwaitInput, await_approval
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.handlers.states.start_transfer import StartInput, start_transfer
from lambdas.handlers.states.write_report import ReportInput, write_report
from lambdas.operations import sweeping, teardown, token
from lambdas.operations.report import reporting
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import (
    ARN,
    DESTINATION_ID,
    ENDS,
    IRELAND,
    SHARED,
    WEST,
    delivered,
    estimate,
    paths,
    plan,
    transfer,
)
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import attempt, spawned
from tests.lambdas.machines import failed, printed

LATER = transfer(
    arn="arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second",
    relays={"instanceTypes": ["t3.small", "t3.medium"]},
).model_copy(update={"run": 2})
ABORTED = BusEvent.from_document(
    {"detail-type": "Step Functions Execution Status Change", "detail": {"executionArn": ARN, "status": "ABORTED"}}
)


def running() -> Cloud:
    """The first run: relays, a rule, the lock, a token, objects; its execution was stopped."""
    cloud = spawned(1)
    cloud.executions.statuses[ARN] = "ABORTED"
    _began(cloud, "token-1", transfer())
    return cloud


def _began(cloud: Cloud, task_token: str, of: AcceptedTransfer) -> None:
    cloud.locks.acquire(DESTINATION_ID, "/restore", "first")
    cloud.tokens.put("first", task_token, attempt(cloud, of))
    cloud.groups[WEST].admit("vpc-source/cpt-relay", "54.1.0.1", 4600, "first")
    cloud.objects.put(f"{ENDS}listing/part-00000.ndjson", b"")


def record_of(cloud: Cloud) -> TransferRecord:
    record = cloud.transfers.get("first")
    assert record is not None
    return record


class NextRun:
    """Another teardown of the first run, its report, and the second run with relays of its own; begins once."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud, self.began = cloud, False

    def begin(self) -> None:
        if self.began:
            return
        self.began = True
        cloud = self._cloud
        teardown.tear_down(cloud.world, record_of(cloud))
        reporting.write(cloud.world, record_of(cloud), Failure(error="ExecutionAborted", cause="stopped"))
        assert cloud.alive() == []
        assert cloud.transfers.resume(LATER)
        cloud.agents.forget(SHARED)
        cloud.nodes.forget("first")
        cloud.transfers.change(LATER, transfer_life.note(paths=paths(), estimate=estimate(1)))
        cloud.transfers.change(LATER, transfer_life.note(plan=plan()))
        spawn_relays(SpawnInput(transfer=LATER, estimate=estimate(1)), cloud.world)
        _began(cloud, "token-2", LATER)
        self.kept = self.now()

    def now(self) -> dict[str, Any]:
        """All that is the second run's."""
        cloud = self._cloud
        return {
            "record": record_of(cloud),
            "relays": cloud.alive(),
            "nodes": cloud.nodes.of("first"),
            "lock": cloud.locks.acquire(DESTINATION_ID, "/restore", "other"),
            "token": cloud.tokens.get("first"),
            "rules": {region: groups.rules() for region, groups in cloud.groups.items()},
            "objects": dict(cloud.objects.objects),
            "told": list(cloud.events.put_events),
            "counted": {name: n for name, n in cloud.metrics.sums.items() if name.startswith("Transfers")},
        }

    def untouched(self) -> None:
        assert self.began
        kept, record = self.kept, self.kept["record"]
        assert (record.transfer, record.status, record.fenced, record.closed) == (LATER, "ACTIVE", False, False)
        assert len(kept["relays"]) == 2
        assert kept["lock"] == Busy("first")
        assert kept["token"] == ControlToken("token-2", 2)
        assert kept["rules"][WEST] != []
        assert f"{ENDS}listing/part-00000.ndjson" in kept["objects"]
        assert self.now() == kept


def _before(owner: Any, name: str, begin: Callable[[], None], *changes: str) -> None:
    """Begin the next run just before a call of `owner`'s method; of `change` before those of these names."""
    method = getattr(owner, name)

    def called(*arguments: Any, **named: Any) -> Any:
        if not changes or arguments[-1].name in changes:
            begin()
        return method(*arguments, **named)

    setattr(owner, name, called)


def _after(owner: Any, name: str, begin: Callable[[], None], *changes: str) -> None:
    """Begin the next run just after a call of `owner`'s method; of `change` after those of these names."""
    method = getattr(owner, name)

    def called(*arguments: Any, **named: Any) -> Any:
        found = method(*arguments, **named)
        if not changes or arguments[-1].name in changes:
            begin()
        return found

    setattr(owner, name, called)


STEPS: dict[str, Callable[[Cloud, Callable[[], None]], None]] = {
    "the fence": lambda cloud, begin: _before(cloud.transfers, "change", begin, "fence"),
    "relays are listed": lambda cloud, begin: _before(cloud.compute[WEST], "of_transfer", begin),
    "relays are terminated": lambda cloud, begin: _after(cloud.compute[IRELAND], "of_transfer", begin),
    "relays are looked for again": lambda cloud, begin: _after(cloud.compute[IRELAND], "terminate", begin),
    "rules are listed": lambda cloud, begin: _before(cloud.groups[IRELAND], "rules", begin),
    "rules are revoked": lambda cloud, begin: _after(cloud.groups[IRELAND], "rules", begin),
    "the lock is released": lambda cloud, begin: _after(cloud.groups[WEST], "revoke", begin),
    "the token is deleted": lambda cloud, begin: _after(cloud.locks, "release", begin),
    "objects are listed": lambda cloud, begin: _after(cloud.tokens, "delete", begin),
    "the note": lambda cloud, begin: _after(cloud.objects, "delete", begin),
    "the report": lambda cloud, begin: _after(cloud.transfers, "change", begin, "note"),
    "the report is written": lambda cloud, begin: _after(cloud.chunks, "read", begin),
    "the transfer is closed": lambda cloud, begin: _before(cloud.transfers, "change", begin, "succeed", "fail"),
}


def _stop_ends_late(cloud: Cloud, begin: Callable[[], None]) -> None:
    def stop(_: Command | None) -> CommandResult:
        begin()
        return printed({"stopped": "first"})

    cloud.commands[IRELAND].scripts["stop"] = stop


STEPS["relays are looked for, the ends being stopped"] = _stop_ends_late


def test_a_sweep_that_is_overtaken_before_it_lists_the_nodes_leaves_the_next_run_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cloud = running()
    later = NextRun(cloud)
    end_nodes = teardown._end_nodes

    def begun(*arguments: Any) -> None:
        later.begin()
        end_nodes(*arguments)

    monkeypatch.setattr(teardown, "_end_nodes", begun)
    sweep_execution(ABORTED, cloud.world)
    later.untouched()


def _once(cloud: Cloud, step: str) -> NextRun:
    later = NextRun(cloud)
    STEPS[step](cloud, later.begin)
    return later


@pytest.mark.parametrize("step", STEPS)
def test_a_sweep_that_is_overtaken_before_a_step_leaves_the_next_run_alone(step: str) -> None:
    cloud = running()
    later = _once(cloud, step)
    sweep_execution(ABORTED, cloud.world)
    later.untouched()


@pytest.mark.parametrize("step", STEPS)
def test_a_sweep_of_the_minute_that_is_overtaken_before_a_step_leaves_the_next_run_alone(step: str) -> None:
    cloud = running()
    stale = record_of(cloud)
    later = _once(cloud, step)
    sweeping.end(cloud.world, stale, "ABORTED")
    later.untouched()


@pytest.mark.parametrize("status", ["ACTIVE", "FAILED"])
def test_a_record_that_was_read_before_the_next_run_began_ends_nothing(status: str) -> None:
    cloud = running()
    if status == "FAILED":
        cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
        cloud.transfers.change(transfer(), transfer_life.REOPEN)
    stale = record_of(cloud)
    later = NextRun(cloud)
    later.begin()
    assert set(sweeping.end(cloud.world, stale, "ABORTED").values()) == {0}
    later.untouched()


def test_a_report_of_an_execution_that_was_overtaken_is_told_and_written_nowhere() -> None:
    cloud = running()
    later = _once(cloud, "the report is written")
    told = ReportInput(
        transfer=transfer(), execution_arn=ARN, started_at="1970-01-01T00:16:40Z", failure={"error": "X", "cause": "y"}
    )
    assert write_report(told, cloud.world)["error"] == "X"
    later.untouched()


def starting(task_token: str = "token-1") -> StartInput:
    return StartInput(transfer=transfer(), task_token=task_token)


def test_ends_that_did_not_start_are_no_outcome_of_the_execution_that_began_meanwhile() -> None:
    cloud = running()
    later = NextRun(cloud)

    def start(_: Command | None) -> CommandResult:
        later.begin()
        return failed("cpt: stopped")

    cloud.commands[IRELAND].scripts["receive"] = start
    with pytest.raises(EndNotStarted):
        start_transfer(starting(), cloud.world)
    assert record_of(cloud).outcome is None
    later.untouched()


def test_a_task_token_that_comes_late_does_not_take_the_place_of_a_later_executions() -> None:
    cloud = running()
    later = NextRun(cloud)
    later.begin()
    with pytest.raises(TransferFenced, match="goes on in another execution"):
        start_transfer(starting("token-late"), cloud.world)
    later.untouched()


def test_a_question_that_comes_late_does_not_take_the_place_of_a_later_executions() -> None:
    cloud = running()
    later = NextRun(cloud)
    later.begin()
    cloud.tokens.put_approval("first", "approval-2")
    with pytest.raises(TransferFenced, match="goes on in another execution"):
        await_approval(AwaitInput(transfer=transfer(), estimate=estimate(1), task_token="approval-1"), cloud.world)
    assert cloud.tokens.approval("first") == "approval-2"
    later.untouched()


def test_an_outcome_that_comes_late_releases_nobody() -> None:
    cloud = running()
    later = NextRun(cloud)
    later.begin()
    cloud.transfers.change(LATER, transfer_life.finish(Outcome(error="Own", cause="of the second run")))
    assert not token.finish(cloud.world, transfer(), delivered())
    assert record_of(cloud).outcome == Outcome(error="Own", cause="of the second run")
    assert cloud.executions.answers == []
