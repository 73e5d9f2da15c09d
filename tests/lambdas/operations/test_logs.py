"""Logs of relays and ends outlive their machines; what cannot be had in seconds ends nothing."""

import pytest
from botocore.exceptions import ConnectTimeoutError

from lambdas.adapters.records import CommandResult
from lambdas.core.estimate.budget import RELEASE_SECONDS
from lambdas.core.fleet.relay_node import successor_of
from lambdas.core.seats.commands import Command
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.release_relays import ReleaseInput, release_relays
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.operations import logs
from lambdas.operations.fleet import relay_end
from lambdas.operations.fleet.replacement import Failing, replace
from tests.lambdas.builders import ARN, DESTINATION_ID, IRELAND, SHARED, SOURCE_ID, WEST, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import amend, spawned
from tests.paths import ROOT

LOG = CommandResult(True, "Success", "line 1\nline 2\n", "")
FOLDER = "transfers/first/logs/1/"


def joined(pairs: int = 2) -> Cloud:
    cloud = spawned(pairs)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    for commands in cloud.commands.values():
        commands.scripts["log"] = lambda _: LOG
    return cloud


def kept(cloud: Cloud) -> dict[str, bytes]:
    found = cloud.objects.objects.items()
    return {key.removeprefix(FOLDER): body for key, body in found if key.startswith(FOLDER)}


def take_down(cloud: Cloud) -> dict[str, int]:
    return dict(tear_down(TearDownInput(transfer=transfer(), execution_arn=ARN), cloud.world))


def release(cloud: Cloud) -> None:
    release_relays(ReleaseInput(transfer=transfer()), cloud.world)


@pytest.mark.parametrize("end", [take_down, release])
def test_the_log_of_each_relay_is_kept_before_it_is_terminated(end: object) -> None:
    cloud, alive = joined(), list[int]()

    def log(_: Command | None) -> CommandResult:
        alive.append(len(cloud.alive()))
        return LOG

    for commands in cloud.commands.values():
        commands.scripts["log"] = log
    assert callable(end)
    end(cloud)
    assert kept(cloud) == {f"{node.node_id}.log": b"line 1\nline 2\n" for node in cloud.nodes.of("first")}
    assert (alive, cloud.alive()) == ([4] * 4, [])


def test_what_the_ends_have_logged_is_kept_too() -> None:
    cloud = joined(1)
    cloud.commands[WEST].scripts["stop", SOURCE_ID] = lambda _: CommandResult(True, "Success", "{}", "sender's\n")
    assert take_down(cloud)["keptLogs"] == 3
    assert kept(cloud)["source.log"] == b"sender's\n"
    assert "destination.log" not in kept(cloud)


def test_why_a_machine_was_not_stopped_is_not_its_log() -> None:
    cloud = joined(1)
    cloud.compute[IRELAND].machines[DESTINATION_ID].agent = False
    take_down(cloud)
    assert "destination.log" not in kept(cloud)


def test_relays_that_do_not_answer_are_terminated_after_seconds() -> None:
    cloud, began = joined(), 0.0
    cloud.commands[WEST].scripts["log"] = lambda _: None
    began = cloud.clock.time
    release(cloud)
    assert (cloud.alive(), len(kept(cloud))) == ([], 2)
    assert 0 < cloud.clock.time - began <= logs.SECONDS


def test_one_that_has_gone_keeps_no_other_from_being_asked() -> None:
    cloud = joined()
    gone, *_ = (node for node in cloud.nodes.of("first") if node.region == WEST)
    cloud.compute[WEST].terminate([gone.instance_id])
    release(cloud)
    assert sorted(kept(cloud)) == sorted(
        f"{node.node_id}.log" for node in cloud.nodes.of("first") if node.node_id != gone.node_id
    )


def test_a_region_whose_run_command_fails_costs_no_teardown() -> None:
    cloud = joined()

    def fails(_: Command | None) -> CommandResult:
        raise ConnectTimeoutError(endpoint_url="https://ssm")

    cloud.commands[WEST].scripts["log"] = fails
    take_down(cloud)
    assert (cloud.alive(), len(kept(cloud))) == ([], 2)


def test_a_bucket_that_fails_costs_no_teardown(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = joined()

    def fails(_key: str, _body: bytes) -> None:
        raise OSError("no bucket")

    monkeypatch.setattr(cloud.objects, "put", fails)
    assert take_down(cloud)["keptLogs"] == 0
    assert cloud.alive() == []


def test_a_relay_without_an_agent_yet_and_a_machine_of_the_user_are_not_asked() -> None:
    cloud = joined()
    young, lent, *_ = cloud.nodes.of("first")
    amend(cloud, young, online_at=None)
    amend(cloud, lent, provider="lent")
    logs.keep_of_relays(cloud.world, transfer(), cloud.nodes.of("first"))
    asked = {instance for commands in cloud.commands.values() for name, instance, _ in commands.sent if name == "log"}
    assert asked == {node.instance_id for node in cloud.nodes.of("first")} - {young.instance_id, lent.instance_id}


def test_the_log_of_a_relay_that_is_replaced_is_kept_while_the_transfer_goes_on() -> None:
    cloud = joined()
    node = cloud.nodes.of("first")[0]
    replace(cloud.world, node, Failing("lost", "its lanes broke"))
    assert sorted(kept(cloud)) == [f"{node.node_id}.log"]


def test_a_lost_relay_that_does_not_answer_holds_its_successor_up_for_two_seconds_at_most() -> None:
    cloud = joined()
    node, began = cloud.nodes.of("first")[0], cloud.clock.time
    cloud.commands[node.region].scripts["log"] = lambda _: None
    replace(cloud.world, node, Failing("lost", "its lanes broke"))
    successor = successor_of(cloud.nodes.of("first"), node)
    assert successor is not None
    assert successor.requested_at - began <= logs.SECONDS_OF_LOST


def give_back(cloud: Cloud, way: str, cause: str = "too few dollars are left") -> None:
    """Release relays while the transfer goes on, or stop it, as a budget or a smaller fleet does."""
    if way == "some":
        mine = [node for node in cloud.nodes.of("first") if node.slot == 1]
        relay_end.drain_and_release(cloud.world, transfer(), mine, cause)
    elif way == "all":
        relay_end.release_all(cloud.world, transfer(), cause)
    else:
        relay_end.end_all(cloud.world, transfer(), cause)


@pytest.mark.parametrize(("way", "slots"), [("some", {1}), ("all", {1, 2}), ("all at once", {1, 2})])
def test_the_log_of_a_relay_that_is_given_back_early_is_kept(way: str, slots: set[int]) -> None:
    cloud = joined()
    alive, nodes = list[int](), cloud.nodes.of("first")

    def log(_: Command | None) -> CommandResult:
        alive.append(len(cloud.alive()))
        return LOG

    for commands in cloud.commands.values():
        commands.scripts["log"] = log
    give_back(cloud, way)
    gone = [node for node in nodes if node.slot in slots]
    assert kept(cloud) == {f"{node.node_id}.log": b"line 1\nline 2\n" for node in gone}
    assert set(alive) == {4}  # none was terminated before all had been asked
    assert len(cloud.alive()) == 4 - len(gone)


def test_lanes_that_do_not_drain_and_relays_that_do_not_answer_are_over_in_the_time_that_a_budget_reserves() -> None:
    cloud = joined()
    cloud.agents.progresses[SHARED, "s0"] = progress(3)  # lanes lead through the first pair, and stay
    for commands in cloud.commands.values():
        commands.scripts["log"] = lambda _: None
    began = cloud.clock.time
    give_back(cloud, "all")
    assert cloud.alive() == []
    assert RELEASE_SECONDS - logs.MOST_SECONDS - 1 < cloud.clock.time - began <= RELEASE_SECONDS


def test_relays_are_released_by_one_hand_alone() -> None:
    """The hand keeps the log of a relay that could have gone on: whoever wishes it gone does not change its item."""
    found = {path: path.read_text() for path in (ROOT / "lambdas").rglob("*.py")}
    wishing = {path: source for path, source in found.items() if "node_life.release(" in source}
    assert {path.relative_to(ROOT / "lambdas").as_posix() for path in wishing} == {
        "core/fleet/reconcile.py",
        "operations/fleet/relay_end.py",
    }
    assert not [path for path, source in wishing.items() if "nodes.change(" in source]
