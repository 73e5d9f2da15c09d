from collections.abc import Iterable

import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.chunks.transfer_plan import PlanListing
from lambdas.core.errors import TeardownIncomplete
from lambdas.core.fleet.firewall import Rule
from lambdas.core.intake.destination_lock import Holding
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.seats.commands import Command
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from tests.lambdas.builders import (
    ARN,
    DESTINATION_ID,
    ENDS,
    IRELAND,
    SHARED,
    SOURCE_ID,
    WEST,
    delivered,
    plan,
    transfer,
)
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned, states
from tests.lambdas.machines import printed


def joined() -> Cloud:
    cloud = spawned(2)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    cloud.locks.acquire(DESTINATION_ID, "/restore", "first")
    cloud.tokens.put("first", "token", 1)
    for name in (
        "listing/part-00000.ndjson",
        "announced/nightly.json",
        "manifest/part-00000.ndjson",
        "digests/9f86d081884c7d659a2feaa0c55ad015/s0/p",
        "plan.json",
    ):
        cloud.objects.put(f"{ENDS}{name}", b"")
    cloud.objects.put("transfers/first/report.json", b"")
    return cloud


def event(*, known: bool = True) -> TearDownInput:
    return TearDownInput(transfer=transfer() if known else None, execution_arn=ARN)


@pytest.mark.parametrize("known", [True, False])
def test_nothing_is_left(known: bool) -> None:
    cloud = joined()
    cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    assert tear_down(event(known=known), cloud.world)["terminated"] == 4
    assert cloud.alive() == []
    assert set(states(cloud).values()) == {"TERMINATED"}
    assert cloud.groups[WEST].admitted == cloud.groups[IRELAND].admitted == []
    assert isinstance(cloud.locks.acquire(DESTINATION_ID, "/restore", "next"), Holding)
    assert cloud.tokens.get("first") is None
    assert cloud.agents.fenced == {SHARED}
    assert list(cloud.objects.objects) == ["transfers/first/report.json"]
    for region, instance in ((WEST, SOURCE_ID), (IRELAND, DESTINATION_ID)):
        assert ("stop", instance, None) in cloud.commands[region].sent


def test_the_plan_stays_where_another_run_may_go_on_with_it() -> None:
    cloud = joined()
    cloud.objects.put(f"{ENDS}changed/1/part-00000.ndjson", b"")
    cloud.objects.put(f"{ENDS}changed/2/part-00000.ndjson", b"")
    listing = PlanListing(parts=1, digest="ab" * 32, planned_folder="changed/1/", planned_parts=1)
    cloud.transfers.change(transfer(), transfer_life.note(plan=plan().model_copy(update={"listing": listing})))
    tear_down(event(), cloud.world)
    kept = [f"{ENDS}{name}" for name in ("changed/1/part-00000.ndjson", "manifest/part-00000.ndjson", "plan.json")]
    assert sorted(cloud.objects.objects) == [*kept, "transfers/first/report.json"]
    cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    tear_down(event(), cloud.world)
    assert list(cloud.objects.objects) == ["transfers/first/report.json"]


def test_what_another_execution_has_taken_up_is_left_to_it() -> None:
    cloud = joined()
    cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
    assert cloud.transfers.resume(
        transfer(arn="arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second").model_copy(
            update={"run": 2}
        )
    )
    assert tear_down(event(), cloud.world) == {"terminated": 0}
    record = cloud.transfers.get("first")
    assert record is not None
    assert not record.fenced


def test_fence_comes_first() -> None:
    cloud = joined()
    fenced_at_stop: list[TransferRecord | None] = []

    def stop(_: Command | None) -> CommandResult:
        fenced_at_stop.append(cloud.transfers.get("first"))
        return printed({"stopped": "first"})

    cloud.commands[WEST].scripts["stop"] = stop
    tear_down(event(), cloud.world)
    assert fenced_at_stop[0] is not None
    assert fenced_at_stop[0].fenced


def test_twice_is_as_good_as_once() -> None:
    cloud = joined()
    tear_down(event(), cloud.world)
    assert tear_down(event(), cloud.world)["terminated"] == 0


def test_request_that_was_never_accepted_needs_nothing() -> None:
    assert tear_down(event(known=False), Cloud().world) == {"terminated": 0}


def test_instance_that_shows_late_is_terminated_too() -> None:
    cloud = joined()

    def appears() -> None:
        machine = cloud.compute[WEST].add("i-0late0late", "10.10.9.9", None)
        machine.transfer_id = "first"

    cloud.clock.at(1, appears)
    tear_down(event(), cloud.world)
    assert cloud.alive() == []


def test_instances_that_stay_are_an_error_that_is_retried() -> None:
    cloud = joined()
    cloud.compute[WEST].immortal = True
    with pytest.raises(TeardownIncomplete, match="still alive"):
        tear_down(event(), cloud.world)


def test_machine_whose_agent_is_silent_does_not_stop_the_teardown() -> None:
    cloud = joined()
    cloud.compute[WEST].machines[SOURCE_ID].agent = False
    assert tear_down(event(), cloud.world)["stopped"] == 1
    assert cloud.alive() == []


def test_rule_that_another_transfer_shares_stays_until_that_ends() -> None:
    cloud = joined()
    second = transfer("second", "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second")
    cloud.transfers.create(second)
    cloud.groups[IRELAND].admit("vpc-destination/cpt-endpoint", "54.0.0.1", 4601, "first")
    tear_down(event(), cloud.world)
    assert [rule.address for rule in cloud.groups[IRELAND].admitted] == ["54.0.0.1"]
    cloud.transfers.change(transfer(), transfer_life.close("SUCCEEDED"))
    tear_down(
        TearDownInput(
            transfer=second, execution_arn="arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second"
        ),
        cloud.world,
    )
    assert cloud.groups[IRELAND].admitted == []


def test_rule_that_two_transfers_share_goes_when_both_end_together() -> None:
    cloud = joined()
    second = transfer("second", "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second")
    cloud.transfers.create(second)
    cloud.groups[IRELAND].admit("vpc-destination/cpt-endpoint", "54.0.0.1", 4601, "first")
    cloud.transfers.change(second, transfer_life.FENCE)
    tear_down(event(), cloud.world)
    assert cloud.groups[IRELAND].admitted == []


def test_rule_that_a_transfer_beginning_meanwhile_relies_on_is_there_again() -> None:
    cloud = joined()
    cloud.groups[IRELAND].admit("vpc-destination/cpt-endpoint", "54.0.0.1", 4601, "first")
    revoke = cloud.groups[IRELAND].revoke

    def begin(rules: Iterable[Rule]) -> None:
        cloud.transfers.create(
            transfer("second", "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second")
        )
        revoke(rules)

    cloud.groups[IRELAND].revoke = begin  # type: ignore[method-assign]
    tear_down(event(), cloud.world)
    assert [(r.group_id, r.address, r.transfer_id) for r in cloud.groups[IRELAND].admitted] == [
        ("vpc-destination/cpt-endpoint", "54.0.0.1", "second")
    ]


def test_ends_of_a_later_execution_are_not_fenced_by_a_teardown_that_comes_late() -> None:
    cloud = joined()
    original = cloud.transfers.change

    def taken_up_meanwhile(mine: AcceptedTransfer, change: transfer_life.Change) -> TransferRecord | None:
        done = original(mine, change)
        if change.name == "fence":
            original(mine, transfer_life.close("FAILED"))
            cloud.transfers.resume(transfer(arn=ARN + "-2").model_copy(update={"run": 2}))
        return done

    cloud.transfers.change = taken_up_meanwhile  # type: ignore[assignment,method-assign]
    assert tear_down(event(), cloud.world)["terminated"] == 0
    assert cloud.agents.fenced == set()
