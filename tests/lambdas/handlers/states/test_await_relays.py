from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.records import CommandResult
from lambdas.adapters.world import World
from lambdas.core.errors import FailTransfer, Throttled, TooManyRules, WriteConflict
from lambdas.core.fleet import node_life
from lambdas.core.fleet.relay_node import JOIN_TIMEOUT_SECONDS
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned
from lambdas.core.seats.retirement import with_seat
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.fleet import membership, relay_end
from lambdas.operations.named import transfer as record_of
from tests.lambdas import builders
from tests.lambdas.builders import IRELAND, SHARED, WEST, delivered, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import ROUTE_KEY, path_ids, spawned, states
from tests.lambdas.machines import AGENT_SECONDS, BOOT_SECONDS, failed, printed
from tests.lambdas.many import begun, many


def run(cloud: Cloud) -> dict[str, Any]:
    return await_relays(AwaitInput(transfer=transfer()), cloud.world)


def test_pairs_join_as_soon_as_both_their_relays_are_ready() -> None:
    cloud = spawned(2)
    slow = cloud.nodes.of("first")[1]
    cloud.compute[IRELAND].machines[slow.instance_id].launched += 20
    joined_at: dict[str, float] = {}
    original = cloud.agents.write_membership

    def watch(shared: str, membership: Any) -> bool:
        for path in membership.paths:
            joined_at.setdefault(path.path_id, cloud.clock.time)
        return original(shared, membership)

    cloud.agents.write_membership = watch  # type: ignore[method-assign]
    assert run(cloud) == {"ready": 2}
    first, second = (f"pair-{slot}" for slot in ((1, 2) if slow.slot == 2 else (2, 1)))
    assert joined_at[second] - joined_at[first] >= 15
    assert set(states(cloud).values()) == {"JOINED"}


def test_partner_that_another_invocation_makes_ready_between_two_looks_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = spawned(1)
    cloud.commands[IRELAND].scripts["relay"] = lambda _: None  # the other invocation's command is answered
    settle = membership.settle

    def settle_while_another_is_at_it(world: World, transfer_id: str) -> None:
        settle(world, transfer_id)
        partner = next(node for node in cloud.nodes.of("first") if node.stage == 1)
        cloud.nodes.change(partner, node_life.start(cloud.clock.now(), 4600))

    monkeypatch.setattr(membership, "settle", settle_while_another_is_at_it)
    assert run(cloud) == {"ready": 1}
    assert set(states(cloud).values()) == {"JOINED"}


def test_relay_that_another_invocation_has_started_outlives_this_ones_failure() -> None:
    cloud = spawned(1)

    def fail_after_another_has_started_it(_: Any) -> CommandResult:
        partner = next(node for node in cloud.nodes.of("first") if node.stage == 1)
        cloud.nodes.change(partner, node_life.start(cloud.clock.now(), 4600))
        return failed("Throttled")

    cloud.commands[IRELAND].scripts["relay"] = fail_after_another_has_started_it
    assert run(cloud) == {"ready": 1}
    assert set(states(cloud).values()) == {"JOINED"}


def test_relay_is_started_with_the_senders_key_and_both_addresses() -> None:
    cloud = spawned(1)
    run(cloud)
    (_, instance, command) = next(sent for sent in cloud.commands[WEST].sent if sent[0] == "relay")
    assert command is not None
    told = command["machines"][instance]
    assert (told["nodeId"], command["senderRouteKeys"]) == ("source-1-0", [ROUTE_KEY])
    machine = cloud.compute[WEST].machines[instance].instance
    assert told["listen"] == [f"{machine.private_address}:4600", f"{machine.public_address}:4600"]


def test_path_goes_inside_then_between_regions_then_inside() -> None:
    cloud = spawned(1)
    run(cloud)
    source, destination = sorted(cloud.nodes.of("first"), key=lambda node: node.stage)
    membership = cloud.agents.membership(SHARED)
    assert membership is not None
    (path,) = [path for path in membership.paths if path.path_id == "pair-1"]
    assert [hop.address for hop in path.hops] == [
        f"{source.private_address}:4600",
        f"{destination.public_address}:4600",
    ]
    assert path.receiver == "10.11.0.1:4601"


def test_each_hop_is_let_in_by_a_rule_for_its_address() -> None:
    cloud = spawned(1)
    run(cloud)
    source, destination = sorted(cloud.nodes.of("first"), key=lambda node: node.stage)
    west = {(rule.group_id, rule.address) for rule in cloud.groups[WEST].admitted}
    ireland = {(rule.group_id, rule.address) for rule in cloud.groups[IRELAND].admitted}
    assert west == {("vpc-source/cpt-relay", "10.10.0.1")}
    assert ireland == {
        ("vpc-destination/cpt-relay", source.public_address),
        ("vpc-destination/cpt-endpoint", destination.private_address),
    }


def test_times_of_launch_boot_agent_and_daemon_are_noted() -> None:
    cloud = spawned(1)
    run(cloud)
    for node in cloud.nodes.of("first"):
        times = [node.requested_at, node.running_at, node.online_at, node.ready_at, node.joined_at]
        assert times == sorted(time for time in times if time is not None)


def test_nothing_is_started_before_the_sender_has_published_its_key() -> None:
    cloud = spawned(1, key=False)
    cloud.clock.at(30, lambda: cloud.agents.route_keys.__setitem__(SHARED, ROUTE_KEY))
    run(cloud)
    assert all(node.ready_at is not None and node.ready_at >= 1030 for node in cloud.nodes.of("first"))


def test_with_a_pre_test_nobody_joins_yet() -> None:
    cloud = spawned(1, pre_test=True)
    assert run(cloud) == {"ready": 2}
    assert path_ids(cloud) == ["direct"]
    assert set(states(cloud).values()) == {"READY"}


def test_relay_that_never_comes_is_lost_at_the_timeout_and_its_partner_released() -> None:
    cloud = spawned(2)
    broken = cloud.nodes.of("first")[0]
    region = cloud.compute[broken.region]
    region.machines[broken.instance_id].agent = False
    assert run(cloud) == {"ready": 1}
    slot = broken.slot
    assert states(cloud)[broken.node_id] == "LOST"
    assert all(state == "LOST" for node_id, state in states(cloud).items() if f"-{slot}-" in node_id)
    assert "agent" in str(next(n for n in cloud.nodes.of("first") if n.node_id == broken.node_id).reason)
    assert len(cloud.alive()) == 2


def test_relays_of_a_region_that_come_up_together_are_started_by_one_command() -> None:
    cloud = spawned(3)
    assert run(cloud) == {"ready": 3}
    assert [cloud.commands[region].commands for region in (WEST, IRELAND)] == [1, 1]


def test_machine_that_ssm_shows_though_it_has_ended_keeps_no_other_relay_from_its_start() -> None:
    cloud = spawned(2)
    doomed = next(node for node in cloud.nodes.of("first") if node.stage == 0)
    cloud.commands[WEST].shown.add(doomed.instance_id)
    cloud.clock.at(BOOT_SECONDS + AGENT_SECONDS - 0.5, lambda: cloud.compute[WEST].terminate([doomed.instance_id]))
    assert run(cloud) == {"ready": 1}


def test_relay_whose_daemon_fails_is_lost_with_the_output() -> None:
    cloud = spawned(1)
    cloud.commands[WEST].scripts["relay"] = lambda _: failed("cpt: does not hash")
    assert run(cloud) == {"ready": 0}
    assert "does not hash" in str(next(n for n in cloud.nodes.of("first") if n.stage == 0).reason)
    assert cloud.alive() == []


def test_relay_that_its_agent_did_not_start_in_time_is_started_again() -> None:
    cloud = spawned(1)
    never_started = CommandResult(False, "Delivery Timed Out", "", "", started=False)
    results = iter([never_started, never_started, printed({"ok": True})])
    cloud.commands[WEST].scripts["relay"] = lambda _: next(results)
    assert run(cloud) == {"ready": 1}
    assert cloud.commands[WEST].commands == 3
    assert set(cloud.commands[WEST].given) == {JOIN_TIMEOUT_SECONDS}


def test_instance_that_dies_while_booting_is_lost() -> None:
    cloud = spawned(1)
    source = next(node for node in cloud.nodes.of("first") if node.stage == 0)
    cloud.compute[WEST].terminate([source.instance_id])
    assert run(cloud) == {"ready": 0}
    assert states(cloud)["source-1-0"] == "LOST"


def test_wait_ends_when_the_transfer_is_delivered() -> None:
    cloud = spawned(1)
    for compute in cloud.compute.values():
        for machine in compute.machines.values():
            machine.boots = machine.transfer_id == ""
    cloud.clock.at(7, lambda: cloud.transfers.change(transfer(), transfer_life.finish(delivered())))
    started = cloud.clock.time
    assert run(cloud) == {"ready": 0}
    assert cloud.clock.time - started < 10


def aws_says(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "refused by the test"}}, "DescribeInstances")


def test_relay_that_has_joined_since_it_was_looked_at_is_not_discarded() -> None:
    cloud = spawned(1)
    seen = cloud.nodes.of("first")
    run(cloud)
    relay_end.discard_unused(cloud.world, seen, "not joined")
    assert set(states(cloud).values()) == {"JOINED"}
    assert len(cloud.alive()) == 2


def test_successor_that_was_just_launched_outlives_the_end_of_an_older_wait() -> None:
    cloud = spawned(2)
    slow = next(node for node in cloud.nodes.of("first") if node.node_id == "source-2-0")
    cloud.compute[WEST].machines[slow.instance_id].boots = False
    young = builders.node("source", 1, 1)

    def launch() -> None:
        cloud.compute[WEST].add(young.instance_id, "10.10.2.9", None, state="pending").boots = False
        cloud.nodes.put(young.model_copy(update={"requested_at": cloud.clock.now()}))

    cloud.clock.at(JOIN_TIMEOUT_SECONDS - 2, launch)
    run(cloud)
    assert (states(cloud)["source-2-0"], states(cloud)["source-1-1"]) == ("LOST", "SPAWNED")


def test_relays_that_a_full_security_group_does_not_admit_are_lost_and_the_others_join() -> None:
    cloud = spawned(2)
    admit = cloud.groups[IRELAND].admit
    refused: list[str] = []

    def refuse(group_id: str, address: str, port: int, transfer_id: str) -> None:
        if address in refused or (not refused and address.startswith("10.11.2.")):
            refused.append(address)
            raise TooManyRules("60 rules")
        admit(group_id, address, port, transfer_id)

    cloud.groups[IRELAND].admit = refuse  # type: ignore[method-assign]
    assert run(cloud) == {"ready": 1}
    assert sorted(states(cloud).values()) == ["JOINED", "JOINED", "LOST", "LOST"]
    assert len(cloud.alive()) == 2


@pytest.mark.parametrize("error", [FailTransfer("no paths"), aws_says("InternalError")])
def test_failure_for_good_discards_the_relays_that_have_not_joined(error: Exception) -> None:
    cloud = spawned(1)

    def refuse(*_: object) -> None:
        raise error

    cloud.groups[WEST].admit = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(type(error)):
        run(cloud)
    assert cloud.alive() == []
    assert set(states(cloud).values()) == {"LOST"}


@pytest.mark.parametrize("error", [Throttled("slow down"), WriteConflict("again"), aws_says("RequestLimitExceeded")])
def test_failure_that_is_retried_keeps_the_relays(error: Exception) -> None:
    cloud = spawned(1)
    admit = cloud.groups[WEST].admit

    def refuse(*_: object) -> None:
        cloud.groups[WEST].admit = admit  # type: ignore[method-assign]
        raise error

    cloud.groups[WEST].admit = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(type(error)):
        run(cloud)
    assert run(cloud) == {"ready": 1}


def test_hops_are_opened_by_the_repeated_call_when_the_first_was_throttled() -> None:
    cloud = spawned(1)
    admit = cloud.groups[IRELAND].admit

    def refuse(*_: object) -> None:
        cloud.groups[IRELAND].admit = admit  # type: ignore[method-assign]
        raise Throttled("slow down")

    cloud.groups[IRELAND].admit = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(Throttled):
        run(cloud)
    assert run(cloud) == {"ready": 1}
    source, destination = sorted(cloud.nodes.of("first"), key=lambda node: node.stage)
    assert {rule.address for rule in cloud.groups[IRELAND].admitted} == {
        source.public_address,
        destination.private_address,
    }


def with_two_senders(*published: str) -> tuple[Cloud, AcceptedTransfer]:
    """Relays that were launched for two senders, of which these have published their keys."""
    accepted = many(2, 2, relays={"instanceTypes": ["t3.small"], "pairs": 2})
    cloud = begun(accepted)
    record = record_of(cloud.world, "first")
    assert isinstance(record, Planned)
    membership.begin(cloud.world, record)
    spawn_relays(SpawnInput(transfer=accepted, estimate=builders.estimate(2)), cloud.world)
    cloud.agents.seat_keys = {(accepted.partition, seat_id): seat_id[1] * 43 for seat_id in published}
    return cloud, accepted


def test_relays_of_several_senders_know_the_keys_of_all_and_let_all_in() -> None:
    cloud, accepted = with_two_senders("s0", "s1")
    await_relays(AwaitInput(transfer=accepted), cloud.world)
    keys = [command["senderRouteKeys"] for _, _, command in cloud.commands[WEST].sent if command]
    assert keys
    assert all(told == ["0" * 43, "1" * 43] for told in keys)
    admitted = {rule.address for rule in cloud.groups[WEST].admitted if rule.group_id.endswith("cpt-relay")}
    assert {"10.10.0.1", "10.10.0.2"} <= admitted
    found = cloud.agents.membership(accepted.partition)
    assert found is not None
    joined = {path.path_id: (path.sender or "s0", path.to or "r0", path.receiver) for path in found.paths}
    assert joined["pair-1"] == ("s0", "r0", "10.11.0.1:4601")
    assert joined["pair-2"] == ("s1", "r1", "10.11.0.2:4601")


def test_relays_wait_for_the_key_of_every_sender_that_counts() -> None:
    cloud, accepted = with_two_senders("s0")
    await_relays(AwaitInput(transfer=accepted), cloud.world)
    assert not [command for _, _, command in cloud.commands[WEST].sent if command]
    cloud, accepted = with_two_senders("s0")
    record = record_of(cloud.world, "first")
    retired = with_seat([], accepted.seat("s1"), record.attempt + 1, 1.0, "x", is_gone=True)
    assert cloud.transfers.change(accepted, transfer_life.note_retired(record, retired))
    membership.settle(cloud.world, "first")
    await_relays(AwaitInput(transfer=accepted), cloud.world)
    keys = [command["senderRouteKeys"] for _, _, command in cloud.commands[WEST].sent if command]
    assert keys
    assert all(told == ["0" * 43] for told in keys)
