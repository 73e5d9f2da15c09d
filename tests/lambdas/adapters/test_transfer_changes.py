"""The record of a transfer under random orders of what several executions do to it, against a model, in both stores."""

from dataclasses import dataclass
from itertools import count

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_transfers import DynamoTransferStore
from lambdas.adapters.stores import TransferStore
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_life import Change
from lambdas.core.record.transfer_record import EndStatus, TransferRecord
from lambdas.core.seats.liveness import Seats
from lambdas.core.spending.meter import Dollars, Spent
from lambdas.core.spending.sent import Sent
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas import builders
from tests.lambdas.memory.stores import MemoryTransferStore

# An example of 40 steps takes 0.1 s in memory, 2 s where each look at the table is a request.
EXAMPLES = {"memory": 50, "dynamodb": 3, "dynamodb-local": 20}
EXECUTIONS = 3
ENDS: tuple[EndStatus, ...] = ("SUCCEEDED", "SUCCEEDED_WITH_SKIPS", "FAILED")
transfers = (f"life{number}" for number in count())
executions = st.integers(0, EXECUTIONS - 1)


@dataclass
class Expected:
    """What the record must say; written without looking at the code."""

    owner: int
    run: int
    status: str = "ACTIVE"
    fenced: bool = False
    closed: bool = False
    attempt: int = 0
    planned: bool = False
    outcome: bool = False
    spent_at: float | None = None
    ends: int | None = None


class TransferLife(RuleBasedStateMachine):
    """Executions of one name, any of which may still act when another has taken the transfer up."""

    def __init__(self, store: TransferStore) -> None:
        super().__init__()
        self.store, self.name = store, next(transfers)
        self.known: Expected | None = None

    def transfer(self, execution: int, run: int = 1) -> AcceptedTransfer:
        arn = f"{builders.ARN}-{execution}"
        return builders.transfer(self.name, arn).model_copy(update={"run": run})

    def change(self, execution: int, change: Change) -> Expected | None:
        """Make a change; the model where the execution has the record."""
        self.changed = self.store.change(self.transfer(execution), change)
        mine = self.known if self.known is not None and self.known.owner == execution else None
        assert self.changed is None or mine is not None, "an execution without the record changes nothing"
        return mine

    @rule(execution=executions)
    def create(self, execution: int) -> None:
        known = self.known
        failed_early = known and known.closed and known.status == "FAILED" and not known.planned and known.run == 1
        if known is None or failed_early:
            known = self.known = Expected(execution, 1)
        mine = known.owner == execution and known.status == "ACTIVE"
        assert self.store.create(self.transfer(execution)) == mine

    @rule(execution=executions, run=st.integers(1, 4))
    def resume(self, execution: int, run: int) -> None:
        known = self.known
        ended = known is not None and known.closed and known.status in ENDS and known.run == run - 1
        assert self.store.resume(self.transfer(execution, run)) == ended
        if known is not None and ended:
            self.known = Expected(execution, run, attempt=known.attempt)

    @rule(execution=executions)
    def plan(self, execution: int) -> None:
        if mine := self.change(execution, transfer_life.note(paths=builders.paths(), plan=builders.plan(self.name))):
            assert self.changed
            mine.planned = True

    @rule(execution=executions)
    def enter_a_state(self, execution: int) -> None:
        mine = self.change(execution, transfer_life.note_stage("Survey Ends", {"enteredAt": 1.5}))
        assert (self.changed is None) == (mine is None)

    @rule(execution=executions)
    def start_an_end(self, execution: int) -> None:
        if mine := self.change(execution, transfer_life.COUNT_ATTEMPT):
            mine.attempt += 1

    @rule(execution=executions, at=st.floats(0, 9, width=16))
    def read_the_meter(self, execution: int, at: float) -> None:
        spent = Spent.of(Dollars(relays=0.25, egress=1.5, cross_zone=0.5, control_plane=1e-5), at, Sent())
        mine = self.change(execution, transfer_life.note(spent=spent))
        newest = mine is not None and (mine.spent_at is None or at >= mine.spent_at)
        assert (self.changed is not None) == newest
        if mine and newest:
            mine.spent_at = at

    @rule(execution=executions, version=st.integers(0, 4))
    def look_at_the_ends(self, execution: int, version: int) -> None:
        mine = self.change(execution, transfer_life.note(seats=Seats.begun(1, 9.5, ["r0", "s0"], version=version)))
        follows = mine is not None and mine.ends in (None, version - 1)
        assert (self.changed is not None) == follows
        if mine and follows:
            mine.ends = version

    @rule(execution=executions)
    def fence(self, execution: int) -> None:
        if mine := self.change(execution, transfer_life.FENCE):
            mine.fenced = True

    @rule(execution=executions)
    def finish(self, execution: int) -> None:
        mine = self.change(execution, transfer_life.finish(builders.delivered()))
        first = mine is not None and mine.status == "ACTIVE"
        assert (self.changed is not None) == first
        if mine and first:
            mine.status, mine.outcome = "DONE", True

    @rule(execution=executions, status=st.sampled_from(ENDS))
    def close(self, execution: int, status: EndStatus) -> None:
        mine = self.change(execution, transfer_life.close(status))
        held = mine is not None and mine.status in ("ACTIVE", "DONE", status)
        assert (self.changed is not None) == held
        if mine and held:
            mine.status, mine.closed = status, True

    @rule(execution=executions)
    def state_ends_late(self, execution: int) -> None:
        if (mine := self.change(execution, transfer_life.REOPEN)) and mine.status in ENDS:
            mine.closed = False

    @invariant()
    def the_record_says_what_the_model_says(self) -> None:
        record = self.store.get(self.name)
        assert (record and _read(record)) == self.known

    def teardown(self) -> None:
        active = [found.transfer.transfer_id for found in self.store.active()]
        assert (self.name in active) == (self.known is not None and not self.known.closed)


def _read(record: TransferRecord) -> Expected:
    return Expected(
        owner=int(record.transfer.execution_arn.rpartition("-")[2]),
        run=record.transfer.run,
        status=record.status,
        fenced=record.fenced,
        closed=record.closed,
        attempt=record.attempt,
        planned=record.plan is not None,
        outcome=record.outcome is not None,
        spent_at=record.spent.at if record.spent else None,
        ends=record.seats.version if record.seats else None,
    )


def test_no_order_of_changes_by_several_executions_leads_where_the_table_does_not(
    kind: str, tables: dict[str, Table]
) -> None:
    store: TransferStore = DynamoTransferStore(tables["transfers"]) if tables else MemoryTransferStore()
    profile = settings(max_examples=EXAMPLES[kind], stateful_step_count=40, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(lambda: TransferLife(store), settings=profile)  # type: ignore[arg-type]  # any callable
