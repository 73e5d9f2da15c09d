"""One suite for the stores of nodes, tokens and what the ends write, in memory and in DynamoDB."""

import json
from itertools import pairwise
from typing import get_args

import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_agents import DynamoAgentRecords
from lambdas.adapters.dynamodb_common_limits import DynamoCommonLimits
from lambdas.adapters.dynamodb_nodes import DynamoNodeStore
from lambdas.adapters.dynamodb_tokens import DynamoTokenStore
from lambdas.adapters.dynamodb_transfers import DynamoTransferStore
from lambdas.adapters.dynamodb_turns import DynamoLaunchTurns
from lambdas.adapters.dynamodb_waves import DynamoWaves
from lambdas.adapters.records import ControlToken
from lambdas.adapters.stores import (
    AgentRecords,
    CommonLimitStore,
    LaunchTurns,
    NodeStore,
    TokenStore,
    WavesStore,
)
from lambdas.core.chunks.events import TransferFailed
from lambdas.core.fleet import node_life
from lambdas.core.fleet.common_limit import CommonLimits, Sharer, shared
from lambdas.core.fleet.launch_queue import BURST, STEP
from lambdas.core.fleet.membership import Membership, TransferPath
from lambdas.core.fleet.relay_node import NodeState
from lambdas.core.seats.credentials import Issued, SealingKey
from lambdas.core.waves.waves import Waves
from tests.lambdas import builders
from tests.lambdas.core.fleet.test_node_life import VALUES as NODE_VALUES
from tests.lambdas.memory.agents import MemoryAgentRecords
from tests.lambdas.memory.stores import (
    MemoryCommonLimits,
    MemoryLaunchTurns,
    MemoryNodeStore,
    MemoryTokenStore,
    MemoryWaves,
)
from tests.lambdas.tables import DYNAMODBS
from tests.paths import CONTRACTS

PROGRESS = json.loads((CONTRACTS / "examples" / "good" / "progress" / "sender.json").read_text())


@pytest.fixture
def agents(tables: dict[str, Table]) -> AgentRecords:
    return DynamoAgentRecords(tables["transfers"]) if tables else MemoryAgentRecords()


@pytest.fixture
def nodes(tables: dict[str, Table]) -> NodeStore:
    return DynamoNodeStore(tables["nodes"]) if tables else MemoryNodeStore()


@pytest.fixture
def tokens(tables: dict[str, Table]) -> TokenStore:
    return DynamoTokenStore(tables["tokens"]) if tables else MemoryTokenStore()


@pytest.fixture
def common_limits(tables: dict[str, Table]) -> CommonLimitStore:
    return DynamoCommonLimits(tables["transfers"]) if tables else MemoryCommonLimits()


@pytest.fixture
def turns(tables: dict[str, Table]) -> LaunchTurns:
    return DynamoLaunchTurns(tables["transfers"]) if tables else MemoryLaunchTurns()


@pytest.fixture
def waves(tables: dict[str, Table]) -> WavesStore:
    return DynamoWaves(tables["transfers"]) if tables else MemoryWaves()


def test_waves_of_a_label_are_written_only_over_their_predecessor(waves: WavesStore) -> None:
    example = json.loads((CONTRACTS / "examples" / "good" / "waves" / "cut-over-now.json").read_text())
    first = Waves.from_document({**example, "version": 1})
    assert (waves.of("archive"), waves.latest(9)) == (None, [])
    assert waves.write(first)
    assert not waves.write(first)
    second = first.model_copy(update={"version": 2, "said": "more"})
    other = first.model_copy(update={"label": "Zürich, 2. Umzug", "updated_at": first.updated_at + 1})
    assert waves.write(second)
    assert not waves.write(second)
    assert waves.write(other)
    assert waves.of("archive") == second
    assert waves.latest(9) == [other, second]
    assert waves.latest(1) == [other]


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
    assert agents.progress(builders.SHARED, "s0") is None
    assert agents.route_key(builders.SHARED, "s0") is None
    assert agents.probe_results(builders.SHARED) == []
    assert (agents.outcome(builders.SHARED, "s0"), agents.lost_relays(builders.SHARED)) == (None, [])


@pytest.mark.parametrize("name", get_args(node_life.ChangeName))
def test_node_changes_as_its_life_says_and_otherwise_stays(nodes: NodeStore, name: node_life.ChangeName) -> None:
    for state in get_args(NodeState):
        node = builders.node(state=state, transfer_id=state.lower())
        change = node_life.Change(name, {field: NODE_VALUES[field] for field in node_life.RULES[name].sets})
        expected = node_life.after(node, change)
        nodes.put(node)
        assert nodes.change(node, change) == expected
        assert nodes.of(node.transfer_id) == [expected or node]


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


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
def test_nodes_of_an_earlier_format_are_read_changed_and_forgotten(tables: dict[str, Table]) -> None:
    nodes, node = DynamoNodeStore(tables["nodes"]), builders.node("destination", 1, state="JOINED")
    tables["nodes"].put({name: value for name, value in node.to_document().items() if name != "stage"})
    assert nodes.of("first") == nodes.by_instance(node.instance_id) == [node]
    ended = nodes.change(node, node_life.take_down(1.0))
    assert ended is not None
    assert (ended.state, ended.stage) == ("TERMINATED", 1)
    nodes.forget("first")
    assert nodes.of("first") == []


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


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
def test_records_of_the_ends_are_read_as_the_daemon_writes_them(tables: dict[str, Table]) -> None:
    table, agents = tables["transfers"], DynamoAgentRecords(tables["transfers"])
    table.put({"transferId": builders.SHARED, "record": "key#s0", "epoch": 1, "routePublicKey": "k" * 43})
    table.put({"transferId": builders.SHARED, "record": "probe#pair-1", "generation": 0, "interRegionMBps": 19.5})
    table.put({"transferId": builders.SHARED, "record": "probe#pair-2", "generation": 1, "error": "refused"})
    document = builders.progress(7).to_json()
    table.put({"transferId": builders.SHARED, "record": "progress#s0", "sequence": 7, "document": document})
    assert agents.route_key(builders.SHARED, "s0") == "k" * 43
    assert agents.progress(builders.SHARED, "s0") == builders.progress(7)
    assert [(r.path_id, r.inter_region, r.error) for r in agents.probe_results(builders.SHARED)] == [
        ("pair-1", 19.5, None),
        ("pair-2", 0.0, "refused"),
    ]


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
def test_credentials_are_issued_to_the_holder_of_a_key(tables: dict[str, Table]) -> None:
    table, agents = tables["transfers"], DynamoAgentRecords(tables["transfers"])
    holder = "r0-0123456789abcdef"
    assert (agents.sealing_key(builders.SHARED, holder), agents.issued(builders.SHARED, holder)) == (None, None)
    written = {"transferId": builders.SHARED, "record": f"sealing#{holder}", "sealingPublicKey": "A" * 43}
    table.put({**written, "epoch": 65536})
    assert agents.sealing_key(builders.SHARED, holder) == SealingKey(b"\0" * 32, 65536)
    for issued in (Issued(refused="not allowed"), Issued("sealed", 4600.5)):
        agents.issue(builders.SHARED, holder, issued)
        assert agents.issued(builders.SHARED, holder) == issued
    assert agents.issued(builders.SHARED, "s0-0123456789abcdef") is None


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
def test_probe_results_are_read_as_their_contract_has_them(tables: dict[str, Table]) -> None:
    table, agents = tables["transfers"], DynamoAgentRecords(tables["transfers"])
    written = {path.stem: json.loads(path.read_text()) for path in CONTRACTS.glob("examples/good/probe-result/*.json")}
    for name, item in written.items():
        table.put({"transferId": builders.SHARED, "record": f"probe#{name}", **item})
    found = {result.path_id: result for result in agents.probe_results(builders.SHARED)}
    assert found.keys() == written.keys()
    assert {name: (list(one.hops), one.error) for name, one in found.items()} == {
        name: (item.get("hopsMBps", []), item.get("error")) for name, item in written.items()
    }
    assert found["route-of-three-relays"].inter_region == 38.1
    assert found["second-hop-failed"].inter_region == 0.0


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
def test_outcome_is_of_its_own_transfer_and_seat_or_none(tables: dict[str, Table]) -> None:
    table, agents = tables["transfers"], DynamoAgentRecords(tables["transfers"])
    failed = {"schemaVersion": 1, "type": "Transfer Failed", "transferId": "first", "side": "receiver", "seat": "r0"}
    failed |= {"epoch": 2, "error": "DestinationError", "cause": "disk"}

    def write(record: str, **changes: object) -> None:
        document = json.dumps({**failed, **changes})
        table.put({"transferId": builders.SHARED, "record": record, "epoch": 2, "document": document})

    write("outcome#r0")
    assert agents.outcome(builders.SHARED, "r0") == TransferFailed.from_document(failed)
    for changes in ({"transferId": "other"}, {"side": "sender"}, {"seat": "s0"}, {"epoch": "x"}):
        write("outcome#r0", **changes)
        assert agents.outcome(builders.SHARED, "r0") is None
    delivered = {"type": "Transfer Delivered", "bytes": 1, "files": 1, "chunks": 1, "sentBytes": 1}
    text = json.dumps({"schemaVersion": 1, "transferId": "first", "epoch": 2, **delivered})
    for seat_id in ("s0", "r0"):
        table.put({"transferId": builders.SHARED, "record": f"outcome#{seat_id}", "document": text})
    assert agents.outcome(builders.SHARED, "s0") is not None
    assert agents.outcome(builders.SHARED, "r0") is None


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
def test_what_the_ends_of_an_earlier_execution_wrote_is_forgotten(tables: dict[str, Table]) -> None:
    table = tables["transfers"]
    agents, transfers = DynamoAgentRecords(table), DynamoTransferStore(table)
    transfers.create(builders.transfer())
    agents.write_membership(builders.SHARED, Membership(version=1, paths=[]))
    agents.fence(builders.SHARED, fenced=True)
    for record in (
        "key#s0",
        "key#r0",
        "progress#s0",
        "probe#pair-1",
        "outcome#s0",
        "lost#source-1-0",
        "answer#0123456789abcdef",
        "sealing#r0-0123456789abcdef",
        "credentials#r0-0123456789abcdef",
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


NONSENSE: dict[str, dict[str, object]] = {
    "no document": {},
    "no text": {"document": 7},
    "no JSON": {"document": "{"},
    "another document": {"document": '{"nonsense": true}'},
    "a list": {"document": "[]"},
    "infinity": {"document": json.dumps(PROGRESS | {"at": float("inf")})},
    "a number that no table holds": {"document": json.dumps(PROGRESS | {"sequence": 10**60})},
    "a time that no table holds": {"document": json.dumps(PROGRESS | {"at": 1e300})},
    "a key that is none": {"routePublicKey": ["k"]},
    "a generation that is none": {"generation": "first"},
    "rates that are none": {"generation": 0, "interRegionMBps": "fast", "hopsMBps": "slow"},
    "hops that are none": {"generation": 0, "hopsMBps": [{"rate": 1}]},
    "an error that is none": {"generation": 0, "error": {"of": "mine"}},
}


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
@pytest.mark.parametrize("written", NONSENSE.values(), ids=NONSENSE)
def test_what_an_end_wrote_and_nobody_can_read_is_as_if_it_had_not_spoken(
    tables: dict[str, Table], written: dict[str, object]
) -> None:
    agents = DynamoAgentRecords(tables["transfers"])
    records = ("progress#s0", "progress#r0", "key#s0", "probe#pair-1", "outcome#s0", "lost#1")
    for record in (*records, "answer#1"):
        tables["transfers"].put({"transferId": builders.SHARED, "record": record, **written})
    assert agents.progress(builders.SHARED, "s0") is None
    assert agents.progress(builders.SHARED, "r0") is None
    assert agents.route_key(builders.SHARED, "s0") is None
    assert agents.probe_results(builders.SHARED) == []
    assert agents.outcome(builders.SHARED, "s0") is None
    assert agents.lost_relays(builders.SHARED) == []
    assert agents.answer(builders.SHARED, "1") is None


@pytest.mark.parametrize("kind", DYNAMODBS, indirect=True)
@pytest.mark.parametrize("name", ["succeeded", "killed"])
def test_answer_of_a_command_is_read_as_the_daemon_writes_it(tables: dict[str, Table], name: str) -> None:
    agents = DynamoAgentRecords(tables["transfers"])
    assert agents.answer(builders.SHARED, "00ff") is None
    text = (CONTRACTS / f"examples/good/command-answer/{name}.json").read_text()
    tables["transfers"].put({"transferId": builders.SHARED, "record": "answer#00ff", "document": text})
    found = agents.answer(builders.SHARED, "00ff")
    assert found is not None
    assert found.to_document() == json.loads(text)
    assert agents.answer(builders.SHARED, "ff00") is None


def test_of_two_versions_of_the_common_limits_the_first_one_holds(common_limits: CommonLimitStore) -> None:
    assert common_limits.get() == CommonLimits()
    first = CommonLimits(version=1).limited("all", 240)
    assert common_limits.put(first)
    assert not common_limits.put(first)
    assert common_limits.get() == first
    sharers = {"one": Sharer("night", None, 10.5)}
    second = shared(first.limited("label:night", 80), sharers, 100.0).next
    assert common_limits.put(second)
    assert not common_limits.put(second)
    assert common_limits.get() == second


def test_turns_at_a_launch_are_as_far_apart_as_ec2_answers_and_nobody_elses(turns: LaunchTurns) -> None:
    taken = [turns.take("us-west-2", 1000.0) for _ in range(12)]
    at_once = BURST
    assert taken[:at_once] == pytest.approx([1000.0] * at_once)
    waits = [later - earlier for earlier, later in pairwise(taken[at_once - 1 :])]
    assert waits == pytest.approx([STEP] * len(waits))
    assert turns.take("eu-west-1", 1000.0) == 1000.0
    # Whoever comes much later waits for nobody, and again some go at once.
    assert [turns.take("us-west-2", 2000.0) for _ in range(at_once)] == pytest.approx([2000.0] * at_once)
