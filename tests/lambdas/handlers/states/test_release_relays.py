"""Relays end as soon as the data has arrived, before anything else is done."""

from lambdas.adapters.records import CommandResult
from lambdas.core.record import transfer_life
from lambdas.core.seats.commands import Command
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.release_relays import ReleaseInput, release_relays
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from tests.lambdas.builders import ARN, WEST, delivered, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import amend, spawned, states
from tests.lambdas.machines import printed


def arrived(pairs: int = 2) -> Cloud:
    cloud = spawned(pairs)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    return cloud


def test_all_relays_are_told_to_end_and_nobody_waits_for_it() -> None:
    cloud = arrived()
    now = cloud.clock.time
    assert release_relays(ReleaseInput(transfer=transfer()), cloud.world) == {"released": 4}
    assert (cloud.alive(), cloud.clock.time) == ([], now)
    assert set(states(cloud).values()) == {"TERMINATED"}
    assert {node.ended_at for node in cloud.nodes.of("first")} == {now}
    assert release_relays(ReleaseInput(transfer=transfer()), cloud.world) == {"released": 0}


def test_the_bill_of_released_relays_ends_there_however_long_the_rest_takes() -> None:
    cloud = arrived()
    now = cloud.clock.time
    release_relays(ReleaseInput(transfer=transfer()), cloud.world)
    cloud.clock.time += 500
    tear_down(TearDownInput(transfer=transfer(), execution_arn=ARN), cloud.world)
    assert {node.ended_at for node in cloud.nodes.of("first")} == {now}


def test_one_that_ec2_does_not_know_yet_is_left_to_the_teardown() -> None:
    cloud = arrived()
    cloud.compute[WEST].shown_after = 10**6
    release_relays(ReleaseInput(transfer=transfer()), cloud.world)
    assert len(cloud.alive()) == 2
    cloud.compute[WEST].shown_after = 0
    tear_down(TearDownInput(transfer=transfer(), execution_arn=ARN), cloud.world)
    assert cloud.alive() == []


def test_machines_of_the_user_go_on() -> None:
    cloud = arrived(1)
    mine, *_ = cloud.nodes.of("first")
    amend(cloud, mine, provider="lent")
    cloud.compute[mine.region].machines[mine.instance_id].transfer_id = ""
    assert release_relays(ReleaseInput(transfer=transfer()), cloud.world) == {"released": 1}
    assert mine.instance_id not in cloud.compute[mine.region].terminated


def test_relays_of_a_later_execution_are_left_to_it() -> None:
    cloud = arrived()
    cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
    assert cloud.transfers.resume(transfer(arn=f"{ARN}-2").model_copy(update={"run": 2}))
    assert release_relays(ReleaseInput(transfer=transfer()), cloud.world) == {"released": 0}
    assert len(cloud.alive()) == 4


def test_a_teardown_ends_relays_before_it_stops_daemons() -> None:
    cloud = spawned(2)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    now = cloud.clock.time
    alive_at_stop: list[int] = []

    def stop(_: Command | None) -> CommandResult:
        alive_at_stop.append(len(cloud.alive()))
        cloud.clock.time += 50
        return printed({"stopped": "first"})

    cloud.commands[WEST].scripts["stop"] = stop
    tear_down(TearDownInput(transfer=transfer(), execution_arn=ARN), cloud.world)
    assert alive_at_stop == [0]
    assert {node.ended_at for node in cloud.nodes.of("first")} == {now}
