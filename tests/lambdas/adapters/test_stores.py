"""One suite for the stores in memory and in DynamoDB; that of the chunks is in test_dynamodb_chunks.py."""

import json
from collections.abc import Callable

import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_agents import DynamoAgentRecords
from lambdas.adapters.dynamodb_nodes import DynamoNodeStore
from lambdas.adapters.dynamodb_tokens import DynamoTokenStore
from lambdas.adapters.dynamodb_transfers import DynamoPathLocks, DynamoTransferStore, _new_item, to_record
from lambdas.adapters.memory import (
    MemoryAgentRecords,
    MemoryNodeStore,
    MemoryPathLocks,
    MemoryTokenStore,
    MemoryTransferStore,
)
from lambdas.adapters.ports import AgentRecords, NodeStore, PathLocks, TokenStore, TransferStore
from lambdas.adapters.records import ControlToken
from lambdas.core.bandwidth import BandwidthLimit
from lambdas.core.events import TransferFailed
from lambdas.core.liveness import Ends
from lambdas.core.lock import Busy, Holding, Way
from lambdas.core.meter import BudgetDecision, Dollars, Sent, Spent
from lambdas.core.transfer import AcceptedTransfer, ExistingRelay, Membership, TransferPath
from lambdas.core.watch import Look, PathLook, Watch
from tests.lambdas import builders


@pytest.fixture
def transfers(tables: dict[str, Table]) -> TransferStore:
    return DynamoTransferStore(tables["transfers"]) if tables else MemoryTransferStore()


@pytest.fixture
def locks(tables: dict[str, Table]) -> PathLocks:
    return DynamoPathLocks(tables["transfers"]) if tables else MemoryPathLocks()


@pytest.fixture
def agents(tables: dict[str, Table]) -> AgentRecords:
    return DynamoAgentRecords(tables["transfers"]) if tables else MemoryAgentRecords()


@pytest.fixture
def nodes(tables: dict[str, Table]) -> NodeStore:
    return DynamoNodeStore(tables["nodes"]) if tables else MemoryNodeStore()


@pytest.fixture
def tokens(tables: dict[str, Table]) -> TokenStore:
    return DynamoTokenStore(tables["tokens"]) if tables else MemoryTokenStore()


def spent(at: float, egress: float) -> Spent:
    return Spent.of(Dollars(relays=0.25, egress=egress, cross_zone=0.5, control_plane=1e-5), at, Sent().after(1, 5))


def test_transfer_is_created_once_and_again_only_by_its_own_execution(transfers: TransferStore) -> None:
    assert transfers.create(builders.transfer())
    assert transfers.create(builders.transfer())
    assert not transfers.create(builders.transfer(arn="arn:another"))


def test_name_of_a_transfer_that_failed_before_its_plan_is_free_again(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.note_stage("first", "Survey Ends", {"enteredAt": 1.0})
    transfers.close(builders.transfer(), "FAILED")
    assert transfers.create(builders.transfer(arn="arn:another"))
    record = transfers.get("first")
    assert record is not None
    assert (record.transfer.execution_arn, record.status, record.stages) == (
        "arn:another",
        "ACTIVE",
        {},
    )
    transfers.note(builders.transfer(), plan=builders.plan().to_document())
    transfers.close(builders.transfer(), "FAILED")
    assert not transfers.create(builders.transfer(arn="arn:third"))


def test_an_ended_transfer_is_resumed_once_and_only_by_the_next_run(transfers: TransferStore) -> None:
    second = builders.transfer(arn="arn:second").model_copy(update={"run": 2})
    assert not transfers.resume(second)
    transfers.create(builders.transfer())
    planned = builders.plan()
    transfers.note(builders.transfer(), plan=planned.to_document())
    transfers.note(builders.transfer(), teardown={"terminated": 2})
    assert transfers.next_attempt("first") == 1
    transfers.fence(builders.transfer())
    assert not transfers.resume(second)
    transfers.close(builders.transfer(), "FAILED")
    assert not transfers.resume(second.model_copy(update={"run": 3}))
    assert transfers.resume(second)
    assert not transfers.resume(second)
    record = transfers.get("first")
    assert record is not None
    assert (record.transfer, record.status, record.fenced) == (second, "ACTIVE", False)
    assert (record.plan, record.teardown, record.earlier, record.earlier_epochs) == (None, None, planned, 1)
    assert [active.transfer for active in transfers.active()] == [second]
    assert transfers.next_attempt("first") == 2


def test_a_plan_that_was_fulfilled_is_not_handed_on(transfers: TransferStore) -> None:
    planned = builders.plan()
    transfers.create(builders.transfer())
    transfers.note(builders.transfer(), plan=planned.to_document())
    transfers.finish(builders.transfer(), {"delivered": {}})
    transfers.close(builders.transfer(), "SUCCEEDED")
    assert transfers.resume(builders.transfer(arn="arn:second").model_copy(update={"run": 2}))
    record = transfers.get("first")
    assert record is not None
    assert record.earlier is None


def test_a_resumed_transfer_keeps_its_name_even_where_it_had_no_plan(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.close(builders.transfer(), "SUCCEEDED")
    transfers.resume(builders.transfer(arn="arn:second").model_copy(update={"run": 2}))
    transfers.close(builders.transfer(), "FAILED")
    assert not transfers.create(builders.transfer(arn="arn:third"))


def test_a_transfer_that_is_opened_again_has_not_ended(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.close(builders.transfer(), "FAILED")
    transfers.reopen("first")
    assert not transfers.resume(builders.transfer(arn="arn:second").model_copy(update={"run": 2}))


def test_a_transfer_that_is_opened_again_keeps_its_name(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.close(builders.transfer(), "FAILED")
    transfers.reopen("first")
    assert not transfers.create(builders.transfer(arn="arn:another"))
    transfers.close(builders.transfer(), "FAILED")
    assert transfers.create(builders.transfer(arn="arn:another"))


WRITES: dict[str, Callable[[TransferStore, AcceptedTransfer], bool]] = {
    "port": lambda transfers, transfer: transfers.note_port(transfer, 4603),
    "note": lambda transfers, transfer: transfers.note(transfer, teardown={"terminated": 2}),
    "spent": lambda transfers, transfer: transfers.note_spent(transfer, spent(60.5, 1.5)),
    "ends": lambda transfers, transfer: transfers.note_ends(transfer, Ends.begun(1, 1000.5, receives=True, version=1)),
    "finish": lambda transfers, transfer: transfers.finish(transfer, {"delivered": {}}),
    "fence": lambda transfers, transfer: transfers.fence(transfer),
    "close": lambda transfers, transfer: transfers.close(transfer, "FAILED"),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("how", ["resumed", "created"])
def test_an_execution_writes_nothing_once_a_later_one_has_the_transfer(
    transfers: TransferStore, write: str, how: str
) -> None:
    first, later = (
        builders.transfer(),
        builders.transfer(arn="arn:second"),
    )
    transfers.create(first)
    transfers.close(first, "FAILED")
    if how == "resumed":
        later = later.model_copy(update={"run": 2})
        assert transfers.resume(later)
    else:
        assert transfers.create(later)
    before = transfers.get("first")
    assert not WRITES[write](transfers, first)
    assert transfers.get("first") == before
    assert [record.transfer for record in transfers.active()] == [later]
    assert WRITES[write](transfers, later)
    assert transfers.get("first") != before


def test_existing_machines_come_back_with_the_record(transfers: TransferStore) -> None:
    accepted = builders.transfer()
    lent = ExistingRelay(role="source", **{**accepted.source.model_dump(), "instance_id": "i-0cccccccccccccccc"})
    transfers.create(accepted.model_copy(update={"existing": [lent]}))
    record = transfers.get("first")
    assert record is not None
    assert record.transfer.existing == [lent]


def test_transfer_record_comes_back_as_it_was_written(transfers: TransferStore) -> None:
    transfers.create(builders.transfer(objective={"maxCostUsd": 1.25}))
    transfers.note(
        builders.transfer(), paths=builders.paths().to_document(), estimate=builders.estimate(2).to_document()
    )
    transfers.note(builders.transfer(), plan=builders.plan().to_document(), teardown={"terminated": 2})
    watched = Watch(
        looks=[Look(epoch=1, at=3.0, paths=[PathLook(path_id="direct", generation=0, lanes=2, bytes=7)])],
        best={"direct": 20.0},
    )
    transfers.note(builders.transfer(), watch=watched.to_document())
    transfers.note_stage("first", "Survey Ends", {"enteredAt": 1.5, "leftAt": 2.25})
    record = transfers.get("first")
    assert record is not None
    assert record.watch == watched
    assert record.transfer == builders.transfer(objective={"maxCostUsd": 1.25})
    assert (record.status, record.fenced, record.running) == ("ACTIVE", False, True)
    assert (record.paths, record.estimate, record.plan) == (builders.paths(), builders.estimate(2), builders.plan())
    assert record.stages == {"Survey Ends": {"enteredAt": 1.5, "leftAt": 2.25}}
    assert record.teardown == {"terminated": 2}
    transfers.note(builders.transfer(), budget={"decision": "direct", "cause": "used up"})
    record = transfers.get("first")
    assert record is not None
    assert record.budget == BudgetDecision(decision="direct", cause="used up")
    assert (record.running, record.moving) == (False, True)
    transfers.note(builders.transfer(), bandwidth=BandwidthLimit(lowest_mbps=80).to_document())
    record = transfers.get("first")
    assert record is not None
    assert record.limit == BandwidthLimit(mbps=None, lowest_mbps=80)


def test_what_was_spent_is_not_taken_back_by_an_earlier_look(transfers: TransferStore) -> None:
    assert not transfers.note_spent(builders.transfer(), spent(1.0, 0.5))
    transfers.create(builders.transfer())
    assert transfers.note_spent(builders.transfer(), spent(60.5, 1.5))
    assert not transfers.note_spent(builders.transfer(), spent(30.0, 1.0))
    assert transfers.note_spent(builders.transfer(), spent(120.0, 2.5))
    record = transfers.get("first")
    assert record is not None
    assert record.spent == spent(120.0, 2.5)


def test_what_was_seen_of_the_ends_is_written_over_the_version_before_only(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    first = Ends.begun(1, 1000.5, receives=True).seen({}, 1000.5)
    assert transfers.note_ends(builders.transfer(), first)
    second = first.restarted("sender", 2, 1060.5).model_copy(update={"version": 2})
    assert not transfers.note_ends(builders.transfer(), first)
    assert transfers.note_ends(builders.transfer(), second)
    assert not transfers.note_ends(builders.transfer(), second)
    record = transfers.get("first")
    assert record is not None
    assert record.ends == second
    assert not transfers.note_ends(builders.transfer("unknown"), first)


def test_unknown_transfer_is_none_and_notes_about_it_leave_no_trace(transfers: TransferStore) -> None:
    transfers.note_stage("ghost", "Survey Ends", {"enteredAt": 1.0})
    transfers.fence(builders.transfer("ghost"))
    assert transfers.get("ghost") is None
    assert not transfers.finish(builders.transfer("ghost"), {"delivered": {}})


def test_outcome_is_written_by_the_first_who_finishes(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    assert transfers.finish(builders.transfer(), {"delivered": {"bytes": 5}})
    assert not transfers.finish(builders.transfer(), {"error": "Late"})
    record = transfers.get("first")
    assert record is not None
    assert (record.status, record.outcome, record.running) == ("DONE", {"delivered": {"bytes": 5}}, False)


def test_active_transfers_are_found_until_they_are_closed(transfers: TransferStore) -> None:
    transfers.create(builders.transfer("one", "arn:1"))
    transfers.create(builders.transfer("two", "arn:2"))
    transfers.close(builders.transfer("one", "arn:1"), "FAILED")
    assert [record.transfer.transfer_id for record in transfers.active()] == ["two"]


def test_attempts_count_up(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    assert [transfers.next_attempt("first"), transfers.next_attempt("first")] == [1, 2]


def test_fenced_transfer_is_not_running(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.fence(builders.transfer())
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


def test_port_of_the_receiver_is_the_transfers_from_then_on(transfers: TransferStore) -> None:
    transfers.create(builders.transfer())
    transfers.note_port(builders.transfer(), 4603)
    record = transfers.get("first")
    assert record is not None
    assert record.transfer == builders.transfer().model_copy(update={"receiver_port": 4603})


def test_membership_is_written_only_over_its_predecessor(agents: AgentRecords) -> None:
    direct = TransferPath(path_id="direct", generation=0, hops=[], receiver="10.0.0.1:4600", lanes=2)
    first = Membership(version=1, paths=[direct])
    assert agents.membership(builders.SHARED) is None
    assert not agents.write_membership(builders.SHARED, first.changed(paths=[]))
    assert agents.write_membership(builders.SHARED, first)
    assert agents.write_membership(builders.SHARED, first)
    second = first.changed(paths=[])
    assert agents.write_membership(builders.SHARED, second)
    assert not agents.write_membership(builders.SHARED, second)
    assert not agents.write_membership(builders.SHARED, first)
    assert agents.membership(builders.SHARED) == second


def test_records_of_ends_that_have_not_spoken_are_absent(agents: AgentRecords) -> None:
    assert agents.progress(builders.SHARED, "sender") is None
    assert agents.route_key(builders.SHARED) is None
    assert agents.probe_results(builders.SHARED) == []
    assert (agents.outcome(builders.SHARED, "sender"), agents.lost_relays(builders.SHARED)) == (None, [])


def test_node_moves_only_from_an_expected_state(nodes: NodeStore) -> None:
    nodes.put(builders.node())
    ready = nodes.move(builders.node(), "READY", ["SPAWNED"], ready_at=1003.25, port=4600)
    assert ready is not None
    assert (ready.state, ready.ready_at, ready.port) == ("READY", 1003.25, 4600)
    assert nodes.move(builders.node(), "READY", ["SPAWNED"]) is None
    lost = nodes.move(ready, "LOST", ["READY", "JOINED"], reason="gone", measured_inter_region=20.5)
    assert lost is not None
    assert nodes.of("first") == [lost]
    assert (lost.ready_at, lost.reason, lost.measured_inter_region) == (1003.25, "gone", 20.5)


def test_node_that_exists_is_not_written_again(nodes: NodeStore) -> None:
    assert nodes.put(builders.node(state="READY"))
    assert not nodes.put(builders.node(state="SPAWNED"))
    assert [node.state for node in nodes.of("first")] == ["READY"]


def test_node_is_found_by_its_instance(nodes: NodeStore) -> None:
    nodes.put(builders.node("source", 1))
    nodes.put(builders.node("destination", 1))
    found = nodes.by_instance(builders.node("destination", 1).instance_id)
    assert [node.node_id for node in found] == ["destination-1-0"]
    assert nodes.by_instance("i-00000000") == []


def test_token_is_stored_once_and_another_takes_its_place(tokens: TokenStore) -> None:
    assert tokens.get("first") is None
    assert tokens.put("first", "token-a", 1)
    assert not tokens.put("first", "token-a", 2)
    assert tokens.get("first") == ControlToken("token-a", 1)
    assert tokens.put("first", "token-b", 2)
    assert tokens.get("first") == ControlToken("token-b", 2)
    tokens.delete("first")
    assert tokens.get("first") is None


def test_approvals_have_a_token_of_their_own(tokens: TokenStore) -> None:
    assert tokens.approval("first") is None
    tokens.put("first", "token-a", 1)
    tokens.put_approval("first", "approval-a")
    tokens.put_approval("first", "approval-b")
    found = tokens.get("first")
    assert (found and found.token, tokens.approval("first")) == ("token-a", "approval-b")
    tokens.delete("first")
    assert (tokens.get("first"), tokens.approval("first")) == (None, None)


@pytest.mark.parametrize("kind", ["dynamodb", "dynamodb-local"], indirect=True)
def test_records_of_the_ends_are_read_as_the_daemon_writes_them(tables: dict[str, Table]) -> None:
    table, agents = tables["transfers"], DynamoAgentRecords(tables["transfers"])
    table.put({"transferId": builders.SHARED, "record": "key#sender", "epoch": 1, "routePublicKey": "k" * 43})
    table.put({"transferId": builders.SHARED, "record": "probe#pair-1", "generation": 0, "interRegionMBps": 19.5})
    table.put({"transferId": builders.SHARED, "record": "probe#pair-2", "generation": 1, "error": "refused"})
    document = builders.progress(7).to_json()
    table.put({"transferId": builders.SHARED, "record": "progress#sender", "sequence": 7, "document": document})
    assert agents.route_key(builders.SHARED) == "k" * 43
    assert agents.progress(builders.SHARED, "sender") == builders.progress(7)
    assert [(r.path_id, r.inter_region, r.error) for r in agents.probe_results(builders.SHARED)] == [
        ("pair-1", 19.5, None),
        ("pair-2", 0.0, "refused"),
    ]


@pytest.mark.parametrize("kind", ["dynamodb", "dynamodb-local"], indirect=True)
def test_outcome_is_of_its_own_transfer_and_side_or_none(tables: dict[str, Table]) -> None:
    table, agents = tables["transfers"], DynamoAgentRecords(tables["transfers"])
    failed = {"schemaVersion": 1, "type": "Transfer Failed", "transferId": "first", "side": "receiver", "epoch": 2}
    failed |= {"error": "DestinationError", "cause": "disk"}

    def write(record: str, **changes: object) -> None:
        document = json.dumps({**failed, **changes})
        table.put({"transferId": builders.SHARED, "record": record, "epoch": 2, "document": document})

    write("outcome#receiver")
    assert agents.outcome(builders.SHARED, "receiver") == TransferFailed.from_document(failed)
    for changes in ({"transferId": "other"}, {"side": "sender"}, {"epoch": "x"}):
        write("outcome#receiver", **changes)
        assert agents.outcome(builders.SHARED, "receiver") is None
    delivered = {"type": "Transfer Delivered", "bytes": 1, "files": 1, "chunks": 1, "sentBytes": 1}
    text = json.dumps({"schemaVersion": 1, "transferId": "first", "epoch": 2, **delivered})
    for side in ("sender", "receiver"):
        table.put({"transferId": builders.SHARED, "record": f"outcome#{side}", "document": text})
    assert agents.outcome(builders.SHARED, "sender") is not None
    assert agents.outcome(builders.SHARED, "receiver") is None


@pytest.mark.parametrize("kind", ["dynamodb", "dynamodb-local"], indirect=True)
def test_what_the_ends_of_an_earlier_execution_wrote_is_forgotten(tables: dict[str, Table]) -> None:
    table = tables["transfers"]
    agents, transfers = DynamoAgentRecords(table), DynamoTransferStore(table)
    transfers.create(builders.transfer())
    agents.write_membership(builders.SHARED, Membership(version=1, paths=[]))
    agents.fence(builders.SHARED, fenced=True)
    for record in (
        "key#sender",
        "key#receiver",
        "progress#sender",
        "probe#pair-1",
        "outcome#sender",
        "lost#source-1-0",
    ):
        table.put({"transferId": builders.SHARED, "record": record})
    agents.forget(builders.SHARED)
    assert list(table.query("transferId = :id", id=builders.SHARED)) == []
    assert [item["record"] for item in table.query("transferId = :id", id="first")] == ["transfer"]
    assert agents.write_membership(builders.SHARED, Membership(version=1, paths=[]))


def test_nodes_of_an_earlier_execution_are_forgotten(nodes: NodeStore) -> None:
    nodes.put(builders.node())
    nodes.put(builders.node(slot=2))
    nodes.forget("first")
    assert nodes.of("first") == []
    assert nodes.put(builders.node())


def test_of_a_record_of_another_format_only_what_a_teardown_needs_is_read() -> None:
    old = {**_new_item(builders.transfer()), "formatVersion": 1, "plan": {"of": "another form"}, "ends": 7, "watch": []}
    record = to_record(old)
    assert (record.transfer.format_version, record.status, record.fenced) == (1, "ACTIVE", False)
    assert (record.plan, record.estimate, record.spawned) == (None, None, None)
