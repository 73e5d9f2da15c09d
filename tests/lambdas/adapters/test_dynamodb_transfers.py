"""One suite for the stores of transfers and path locks, in memory and in DynamoDB."""

import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_transfers import DynamoPathLocks, DynamoTransferStore
from lambdas.adapters.stores import PathLocks, TransferStore
from lambdas.core.estimate.first_contact import RelayDecision
from lambdas.core.fleet.relay_watch import Look, PathLook, Watch
from lambdas.core.intake.destination_lock import Busy, Holding, Way
from lambdas.core.places.machines import ExistingRelay
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Beside, Outcome
from lambdas.core.request.bandwidth import BandwidthLimit
from lambdas.core.seats.liveness import Seats
from lambdas.core.spending.meter import BudgetDecision, Dollars, Spent
from lambdas.core.spending.sent import Sent
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas import builders
from tests.lambdas.core.record.test_transfer_life import CHANGES
from tests.lambdas.memory.stores import (
    MemoryPathLocks,
    MemoryTransferStore,
)


@pytest.fixture
def transfers(tables: dict[str, Table]) -> TransferStore:
    return DynamoTransferStore(tables["transfers"]) if tables else MemoryTransferStore()


@pytest.fixture
def locks(tables: dict[str, Table]) -> PathLocks:
    return DynamoPathLocks(tables["transfers"]) if tables else MemoryPathLocks()


def spent(at: float, egress: float) -> Spent:
    return Spent.of(Dollars(relays=0.25, egress=egress, cross_zone=0.5, control_plane=1e-5), at, Sent().after(1, 5))


def attempt(transfers: TransferStore, transfer: AcceptedTransfer) -> int:
    record = transfers.change(transfer, transfer_life.COUNT_ATTEMPT)
    assert record is not None
    return record.attempt


def test_transfer_is_created_once_and_again_only_by_its_own_execution(transfers: TransferStore) -> None:
    assert transfers.create(builders.transfer())
    assert transfers.create(builders.transfer())
    assert not transfers.create(builders.transfer(arn="arn:another"))


def test_active_transfers_are_found_by_the_machines_of_their_ends(transfers: TransferStore) -> None:
    for transfer_id in ("first", "ended"):
        transfers.create(builders.transfer(transfer_id))
    transfers.change(builders.transfer("ended"), transfer_life.close("FAILED"))
    assert transfers.ids_with_end(builders.SOURCE_ID) == transfers.ids_with_end(builders.DESTINATION_ID) == ["first"]
    assert transfers.ids_with_end("i-0999999999999999f") == []


def test_name_of_a_transfer_that_failed_before_its_plan_is_free_again(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.change(builders.transfer(), transfer_life.note_stage("Survey Ends", {"enteredAt": 1.0}))
    transfers.change(builders.transfer(), transfer_life.close("FAILED"))
    assert transfers.create(builders.transfer(arn="arn:another"))
    record = transfers.get("first")
    assert record is not None
    assert (record.transfer.execution_arn, record.status, record.stages) == (
        "arn:another",
        "ACTIVE",
        {},
    )
    transfers.change(builders.transfer(), transfer_life.note(plan=builders.plan()))
    transfers.change(builders.transfer(), transfer_life.close("FAILED"))
    assert not transfers.create(builders.transfer(arn="arn:third"))


def test_an_ended_transfer_is_resumed_once_and_only_by_the_next_run(transfers: TransferStore) -> None:
    second = builders.transfer(arn="arn:second").model_copy(update={"run": 2})
    assert not transfers.resume(second)
    transfers.create(builders.transfer())
    planned = builders.plan()
    transfers.change(builders.transfer(), transfer_life.note(plan=planned))
    transfers.change(builders.transfer(), transfer_life.note(teardown={"terminated": 2}))
    assert attempt(transfers, builders.transfer()) == 1
    transfers.change(builders.transfer(), transfer_life.FENCE)
    assert not transfers.resume(second)
    transfers.change(builders.transfer(), transfer_life.close("FAILED"))
    assert not transfers.resume(second.model_copy(update={"run": 3}))
    assert transfers.resume(second)
    assert not transfers.resume(second)
    record = transfers.get("first")
    assert record is not None
    assert (record.transfer, record.status, record.fenced) == (second, "ACTIVE", False)
    assert (record.plan, record.teardown, record.earlier, record.earlier_starts) == (None, None, planned, 1)
    assert [active.transfer for active in transfers.active()] == [second]
    assert attempt(transfers, second) == 2


def test_a_plan_that_was_fulfilled_is_not_handed_on(transfers: TransferStore) -> None:
    planned = builders.plan()
    transfers.create(builders.transfer())
    transfers.change(builders.transfer(), transfer_life.note(plan=planned))
    transfers.change(builders.transfer(), transfer_life.finish(builders.delivered()))
    transfers.change(builders.transfer(), transfer_life.close("SUCCEEDED"))
    assert transfers.resume(builders.transfer(arn="arn:second").model_copy(update={"run": 2}))
    record = transfers.get("first")
    assert record is not None
    assert record.earlier is None


def test_a_resumed_transfer_keeps_its_name_even_where_it_had_no_plan(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.change(builders.transfer(), transfer_life.close("SUCCEEDED"))
    transfers.resume(builders.transfer(arn="arn:second").model_copy(update={"run": 2}))
    transfers.change(builders.transfer(), transfer_life.close("FAILED"))
    assert not transfers.create(builders.transfer(arn="arn:third"))


def test_a_transfer_that_is_opened_again_has_not_ended(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.change(builders.transfer(), transfer_life.close("FAILED"))
    transfers.change(builders.transfer(), transfer_life.REOPEN)
    assert not transfers.resume(builders.transfer(arn="arn:second").model_copy(update={"run": 2}))


def test_a_transfer_that_is_opened_again_keeps_its_name(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.change(builders.transfer(), transfer_life.close("FAILED"))
    transfers.change(builders.transfer(), transfer_life.REOPEN)
    assert not transfers.create(builders.transfer(arn="arn:another"))
    transfers.change(builders.transfer(), transfer_life.close("FAILED"))
    assert transfers.create(builders.transfer(arn="arn:another"))


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("how", ["resumed", "created"])
def test_an_execution_writes_nothing_once_a_later_one_has_the_transfer(
    transfers: TransferStore, name: str, how: str
) -> None:
    first, later = builders.transfer(), builders.transfer(arn="arn:second")
    transfers.create(first)
    transfers.change(first, transfer_life.close("FAILED"))
    if how == "resumed":
        later = later.model_copy(update={"run": 2})
        assert transfers.resume(later)
    else:
        assert transfers.create(later)
    before = transfers.get("first")
    assert transfers.change(first, CHANGES[name]) is None
    assert transfers.get("first") == before
    assert [record.transfer for record in transfers.active()] == [later]
    changed = transfers.change(later, CHANGES[name])
    assert changed == (None if name == "reopen" else transfers.get("first"))
    assert (changed is None) == (transfers.get("first") == before)


def test_existing_machines_come_back_with_the_record(transfers: TransferStore) -> None:
    accepted = builders.transfer()
    lent = ExistingRelay(stage=0, **{**accepted.at_source.model_dump(), "instance_id": "i-0cccccccccccccccc"})
    transfers.create(accepted.model_copy(update={"existing": [lent]}))
    record = transfers.get("first")
    assert record is not None
    assert record.transfer.existing == [lent]


def test_transfer_record_comes_back_as_it_was_written(transfers: TransferStore) -> None:
    transfers.create(builders.transfer(objective={"maxCostUsd": 1.25}))
    transfers.change(builders.transfer(), transfer_life.note(paths=builders.paths(), estimate=builders.estimate(2)))
    transfers.change(builders.transfer(), transfer_life.note(plan=builders.plan(), teardown={"terminated": 2}))
    watched = Watch(
        looks=[Look(epoch=1, at=3.0, paths=[PathLook(path_id="direct", generation=0, lanes=2, bytes=7)])],
        best={"direct": 20.0},
    )
    transfers.change(builders.transfer(), transfer_life.note(watch=watched))
    transfers.change(builders.transfer(), transfer_life.note_stage("Survey Ends", {"enteredAt": 1.5, "leftAt": 2.25}))
    record = transfers.get("first")
    assert record is not None
    assert record.watch == watched
    assert record.transfer == builders.transfer(objective={"maxCostUsd": 1.25})
    assert (record.status, record.fenced, record.running) == ("ACTIVE", False, True)
    assert (record.paths, record.estimate, record.plan) == (builders.paths(), builders.estimate(2), builders.plan())
    assert record.stages == {"Survey Ends": {"enteredAt": 1.5, "leftAt": 2.25}}
    assert record.teardown == {"terminated": 2}
    transfers.change(builders.transfer(), transfer_life.note(budget=BudgetDecision(decision="direct", cause="used up")))
    record = transfers.get("first")
    assert record is not None
    assert record.budget == BudgetDecision(decision="direct", cause="used up")
    assert (record.running, record.moving) == (False, True)
    transfers.change(builders.transfer(), transfer_life.note(bandwidth=BandwidthLimit(lowest_mbps=80)))
    record = transfers.get("first")
    assert record is not None
    assert record.limit == BandwidthLimit(mbps=None, lowest_mbps=80)


def test_of_two_who_read_the_same_limit_the_first_sets_another(transfers: TransferStore) -> None:
    first, transfer = BandwidthLimit().changed_to(80, 60.5), builders.transfer()
    transfers.create(transfer)
    assert transfers.change(transfer, transfer_life.note(bandwidth=first))
    assert not transfers.change(transfer, transfer_life.note(bandwidth=BandwidthLimit().changed_to(40, 60.6)))
    assert transfers.change(transfer, transfer_life.note(bandwidth=first.changed_to(40, 61.5, "timetable")))


def test_what_was_spent_is_not_taken_back_by_an_earlier_look(transfers: TransferStore) -> None:
    assert not transfers.change(builders.transfer(), transfer_life.note(spent=spent(1.0, 0.5)))
    transfers.create(builders.transfer())
    assert transfers.change(builders.transfer(), transfer_life.note(spent=spent(60.5, 1.5)))
    assert not transfers.change(builders.transfer(), transfer_life.note(spent=spent(30.0, 1.0)))
    assert transfers.change(builders.transfer(), transfer_life.note(spent=spent(120.0, 2.5)))
    record = transfers.get("first")
    assert record is not None
    assert record.spent == spent(120.0, 2.5)


def test_what_was_seen_of_the_ends_is_written_over_the_version_before_only(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    first = Seats.begun(1, 1000.5, ["r0", "s0"]).seen({}, 1000.5)
    assert transfers.change(builders.transfer(), transfer_life.note(seats=first))
    second = first.restarted("s0", 2, 1060.5).model_copy(update={"version": 2})
    assert not transfers.change(builders.transfer(), transfer_life.note(seats=first))
    assert transfers.change(builders.transfer(), transfer_life.note(seats=second))
    assert not transfers.change(builders.transfer(), transfer_life.note(seats=second))
    record = transfers.get("first")
    assert record is not None
    assert record.seats == second
    assert not transfers.change(builders.transfer("unknown"), transfer_life.note(seats=first))


def test_unknown_transfer_is_none_and_notes_about_it_leave_no_trace(transfers: TransferStore) -> None:
    transfers.change(builders.transfer("ghost"), transfer_life.note_stage("Survey Ends", {"enteredAt": 1.0}))
    transfers.change(builders.transfer("ghost"), transfer_life.FENCE)
    assert transfers.get("ghost") is None
    assert not transfers.change(builders.transfer("ghost"), transfer_life.finish(builders.delivered()))


def test_outcome_is_written_by_the_first_who_finishes(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    assert transfers.change(builders.transfer(), transfer_life.finish(builders.delivered(bytes=5)))
    assert not transfers.change(builders.transfer(), transfer_life.finish(Outcome(error="Late")))
    record = transfers.get("first")
    assert record is not None
    assert (record.status, record.outcome, record.running) == ("DONE", builders.delivered(bytes=5), False)


def test_active_transfers_are_found_until_they_are_closed(transfers: TransferStore) -> None:
    transfers.create(builders.transfer("one", "arn:1"))
    transfers.create(builders.transfer("two", "arn:2"))
    transfers.change(builders.transfer("one", "arn:1"), transfer_life.close("FAILED"))
    assert [record.transfer.transfer_id for record in transfers.active()] == ["two"]


def test_attempts_count_up(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    assert [attempt(transfers, builders.transfer()) for _ in range(2)] == [1, 2]


def test_fenced_transfer_is_not_running(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.change(builders.transfer(), transfer_life.FENCE)
    record = transfers.get("first")
    assert record is not None
    assert record.fenced
    assert not record.running


def test_lock_refuses_overlap_and_is_reentrant(locks: PathLocks) -> None:
    assert locks.acquire("i-1", "/data/a", "one") == Holding("/data/a", 4601)
    assert locks.acquire("i-1", "/data/a", "one") == Holding("/data/a", 4601)
    assert locks.acquire("i-1", "/data", "two") == Busy("one")
    assert locks.acquire("i-1", "/data/ab", "two") == Holding("/data/ab", 4602)
    assert locks.acquire("i-2", "/data", "three") == Holding("/data", 4601)
    locks.release("i-1", "one")
    locks.release("i-1", "one")
    assert locks.acquire("i-1", "/data/a/b", "three") == Holding("/data/a/b", 4601)


def test_lock_keeps_the_ways_to_the_directory_and_refuses_another_name_of_it(locks: PathLocks) -> None:
    ways = (Way(("1:2", "1:3"), ("data", "new")), Way(("7:2",), ("mnt", "new")))
    assert locks.acquire("i-1", "/data/new", "one") == Holding("/data/new", 4601)
    assert locks.acquire("i-1", "/data/new", "one", ways) == Holding("/data/new", 4601, ways)
    assert locks.acquire("i-1", "/data/new", "one") == Holding("/data/new", 4601, ways)
    assert locks.acquire("i-1", "/link/new", "two") == Holding("/link/new", 4602)
    assert locks.acquire("i-1", "/link/new", "two", ways[1:]) == Busy("one")


def test_lock_of_shared_directories_compares_neither_paths_nor_ports(locks: PathLocks) -> None:
    ways = [(Way(("aa", "ab"), ("x",)),), (Way(("aa", "ac"), ("y",)),), (Way(("ab",), ()),)]
    for number, own in enumerate(ways[:2] * 20):
        mine = (*own, Way((f"own{number}",), ())) if number < 2 else (Way((f"own{number}",), ()),)
        assert locks.acquire_shared(f"t{number}", mine) == Holding("", 0, mine)
    assert locks.acquire_shared("late", ways[2]) == Busy("t0", elsewhere=True)
    locks.release_shared("t0")
    locks.release_shared("t0")
    assert locks.acquire_shared("late", ways[2]) == Holding("", 0, ways[2])
    assert locks.acquire("i-1", "/data", "late") == Holding("/data", 4601)


def test_port_of_the_receiver_is_the_transfers_from_then_on(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.change(builders.transfer(), transfer_life.note(receiver_port=4603))
    record = transfers.get("first")
    assert record is not None
    assert record.transfer == builders.transfer().model_copy(update={"receiver_port": 4603})


def test_decision_follows_the_one_before_it_only(transfers: TransferStore) -> None:
    transfer = builders.transfer()
    assert transfers.create(transfer)
    one = RelayDecision(
        at=1.0, after=1.0, served=1, pairs=1, last_slot=1, instance_type="t3.small", direct=1.0, total=1.0, reason="x"
    )
    notes = [transfer_life.note(decisions=[one.to_document()] * count) for count in range(1, 5)]
    for noted in notes[:2]:
        assert transfers.change(transfer, noted)
        assert not transfers.change(transfer, noted)
    assert not transfers.change(transfer, notes[3])


def test_what_others_tell_follows_what_they_have_read_only(transfers: TransferStore) -> None:
    transfer = builders.transfer()
    assert transfers.create(transfer)
    first, second = (Beside(transfer_id=name, since=1.25, until=1732802463.123456) for name in ("first", "second"))
    assert transfers.change(transfer, transfer_life.note_beside([], [first]))
    assert not transfers.change(transfer, transfer_life.note_beside([], [second]))
    record = transfers.get(transfer.transfer_id)
    assert record is not None
    assert transfers.change(transfer, transfer_life.note_beside(record.beside, [*record.beside, second]))
