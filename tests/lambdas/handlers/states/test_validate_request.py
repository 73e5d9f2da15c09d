from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.chunks.chunk import Finish
from lambdas.core.errors import (
    DestinationBusy,
    DestinationTaken,
    InvalidRequest,
    NoSuchTransfer,
    TransferEnding,
    TransferRunning,
)
from lambdas.core.fleet.membership import Membership
from lambdas.core.intake.destination_lock import Busy, Holding
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import EndStatus
from lambdas.core.transfer.accepted import RECEIVER_PORTS, AcceptedTransfer
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.handlers.states.validate_request import ValidateInput, validate_request
from tests.lambdas.builders import (
    ARN,
    DESTINATION_ID,
    IRELAND,
    SOURCE_ID,
    WEST,
    node,
    plan,
    progress,
    request,
    shared,
    transfer,
)
from tests.lambdas.cloud import Cloud
from tests.lambdas.many import asked, machine_ids, many, with_machines
from tests.lambdas.minute import minute
from tests.lambdas.services import MemoryGroups

SECOND = "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second"


def run(cloud: Cloud, document: Any, name: str = "first", arn: str = ARN) -> Any:
    event = {"request": document, "executionArn": arn, "executionName": name, "startedAt": "1970-01-01T00:16:40.5Z"}
    return validate_request(ValidateInput.from_document(event), cloud.world)


def test_accepted_transfer_knows_both_machines_and_has_its_defaults() -> None:
    cloud = Cloud()
    found = run(cloud, request())
    assert (found.transfer_id, found.execution_started_at) == ("first", 1000.5)
    assert (found.at_source.vpc_id, found.at_source.public_address) == ("vpc-source", "54.0.0.1")
    assert (found.at_destination.region, found.at_destination.private_address) == (IRELAND, "10.11.0.1")
    assert found.request.relays.instance_types == ["t3.small", "t3.medium"]
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.running
    assert cloud.events.put_events == [("Transfer Started", {"transferId": "first", "executionArn": ARN})]


def test_whoever_hears_of_the_start_hears_what_people_call_it() -> None:
    cloud = Cloud()
    found = run(cloud, request(label="Moves of May", tags={"team": "storage"}))
    ((kind, news),) = cloud.events.put_events
    assert (kind, news["label"], news["tags"]) == ("Transfer Started", "Moves of May", {"team": "storage"})
    assert (found.request.label, found.request.tags) == ("Moves of May", {"team": "storage"})


def test_repeated_by_the_same_execution_it_accepts_again() -> None:
    cloud = Cloud()
    assert run(cloud, request()) == run(cloud, request())


def test_name_of_the_request_is_the_id_and_odd_execution_names_become_ids() -> None:
    assert run(Cloud(), request(name="mine")).transfer_id == "mine"
    assert run(Cloud(), request(), name="-a.b+c").transfer_id == "a-b-c"


@pytest.mark.parametrize(
    ("state", "words"), [("stopped", "is stopped; start it first"), ("terminated", "is not in us-west-2")]
)
def test_machine_that_does_not_run_is_refused(state: str, words: str) -> None:
    cloud = Cloud()
    machine = cloud.compute[WEST].machines[SOURCE_ID]
    machine.instance = replace(machine.instance, state=state)
    with pytest.raises(InvalidRequest, match=words):
        run(cloud, request())


def test_unknown_machine_and_silent_agent_are_both_named() -> None:
    cloud = Cloud()
    del cloud.compute[WEST].machines[SOURCE_ID]
    cloud.compute[IRELAND].machines[DESTINATION_ID].agent = False
    with pytest.raises(InvalidRequest) as error:
        run(cloud, request())
    assert len(error.value.problems) == 2
    assert f"$.source.instanceId: '{SOURCE_ID}' is not in {WEST}" in error.value.problems[0]
    assert "does not answer SSM" in error.value.problems[1]
    again = """another execution name, e.g. 'first-2'; with "name": "first" in it the transfer keeps this one"""
    assert str(error.value).splitlines()[-1].endswith(again)
    assert cloud.transfers.get("first") is None


def test_an_end_without_its_owners_tag_is_refused_where_the_deployment_requires_it() -> None:
    cloud, asked = Cloud(require_consent=True), Cloud()
    machine = cloud.compute[WEST].machines[SOURCE_ID]
    machine.instance = replace(machine.instance, end_of="cpt")
    there = cloud.compute[IRELAND].machines[DESTINATION_ID]
    with pytest.raises(InvalidRequest) as error:
        run(cloud, request())
    [problem] = error.value.problems
    assert problem.startswith(f"$.destination.instanceId: '{DESTINATION_ID}' is not tagged")
    assert f"--region {IRELAND} --resources {DESTINATION_ID} --tags Key=cpt:end,Value=cpt" in problem
    there.instance = replace(there.instance, end_of="cpt")
    assert run(cloud, request()).transfer_id == run(asked, request()).transfer_id


def test_overlapping_destination_is_refused_and_names_the_other() -> None:
    cloud = Cloud()
    run(cloud, request())
    inner = {**request(), "destination": {**request()["destination"], "path": "/restore/inner"}}
    with pytest.raises(DestinationBusy, match=r"'/restore/inner' .* 'first'"):
        run(cloud, inner, name="second", arn=SECOND)
    assert cloud.events.put_events == [("Transfer Started", {"transferId": "first", "executionArn": ARN})]


def test_transfers_to_one_machine_are_received_at_ports_of_their_own() -> None:
    cloud = Cloud()
    elsewhere = {**request(), "destination": {**request()["destination"], "path": "/elsewhere"}}
    ports = [
        run(cloud, request()).receiver_port,
        run(cloud, elsewhere, "second", SECOND).receiver_port,
    ]
    assert ports == [4601, 4602]
    noted = [cloud.transfers.get(name) for name in ("first", "second")]
    assert [record and record.transfer.receiver_port for record in noted] == ports
    # Asked again, as after a Lambda that died, it stays where it is.
    assert run(cloud, elsewhere, "second", SECOND).receiver_port == 4602


@pytest.mark.parametrize(("when_busy", "error"), [("refuse", DestinationBusy), ("wait", DestinationTaken)])
def test_machine_that_receives_as_many_as_it_can_is_busy(when_busy: str, error: type[Exception]) -> None:
    cloud = Cloud()
    for port in RECEIVER_PORTS:
        cloud.locks.acquire(DESTINATION_ID, f"/{port}", f"t{port}")
    with pytest.raises(error, match=rf"\$\.destination\.instanceId: '{DESTINATION_ID}' receives 15 transfers"):
        run(cloud, request(whenBusy=when_busy))


def test_request_that_waits_is_tried_again_and_gets_the_destination_once_it_is_free() -> None:
    cloud = Cloud()
    run(cloud, request())
    with pytest.raises(DestinationTaken, match="what transfer 'first' writes; it waits until that has ended"):
        run(
            cloud,
            request(whenBusy="wait"),
            name="second",
            arn=SECOND,
        )
    cloud.locks.release(DESTINATION_ID, "first")
    run(
        cloud,
        request(whenBusy="wait"),
        name="second",
        arn=SECOND,
    )
    assert cloud.locks.acquire(DESTINATION_ID, "/restore", "third") == Busy("second")


def test_refused_transfer_is_found_by_its_execution_and_leaves_the_others_lock() -> None:
    cloud = Cloud()
    run(cloud, request())
    with pytest.raises(DestinationBusy):
        run(cloud, request(), name="second", arn=SECOND)
    tear_down(
        TearDownInput(transfer=None, execution_arn=SECOND),
        cloud.world,
    )
    assert cloud.locks.acquire(DESTINATION_ID, "/restore", "third") == Busy("first")


def test_used_name_is_refused_and_takes_no_lock() -> None:
    cloud = Cloud()
    cloud.transfers.change(run(cloud, request(name="mine")), transfer_life.close("SUCCEEDED"))
    cloud.locks.release(DESTINATION_ID, "mine")
    with pytest.raises(InvalidRequest, match="'mine' was used by another execution"):
        run(cloud, request(name="mine"), arn=SECOND)
    assert isinstance(cloud.locks.acquire(DESTINATION_ID, "/restore", "other"), Holding)


def test_used_name_of_a_running_transfer_keeps_its_lock() -> None:
    cloud = Cloud()
    run(cloud, request(name="mine"))
    with pytest.raises(InvalidRequest):
        run(cloud, request(name="mine"), arn=SECOND)
    assert cloud.locks.acquire(DESTINATION_ID, "/restore", "other") == Busy("mine")


def ended(cloud: Cloud, status: EndStatus = "FAILED") -> AcceptedTransfer:
    """A transfer `mine` that has ended, with what its ends and relays left in the tables."""
    accepted: AcceptedTransfer = run(cloud, request(name="mine"))
    cloud.transfers.change(accepted, transfer_life.note(plan=plan("mine")))
    cloud.agents.write_membership(shared("mine"), Membership(version=1, paths=[]))
    cloud.agents.write_membership(shared("mine"), Membership(version=2, paths=[]))
    cloud.agents.progresses[shared("mine"), "s0"] = progress()
    cloud.nodes.put(node(transfer_id="mine", state="LOST"))
    cloud.transfers.change(accepted, transfer_life.close(status))
    cloud.locks.release(DESTINATION_ID, "mine")
    return accepted


@pytest.mark.parametrize("status", ["FAILED", "SUCCEEDED"])
def test_resumed_it_is_the_next_run_of_the_same_transfer_and_finds_nothing_of_the_last_one(status: EndStatus) -> None:
    cloud = Cloud()
    ended(cloud, status)
    found = run(cloud, request(name="mine", resume=True), name="mine-attempt2", arn=SECOND)
    assert (found.transfer_id, found.run, found.execution_arn) == (
        "mine",
        2,
        SECOND,
    )
    assert run(cloud, request(name="mine", resume=True), name="mine-attempt2", arn=SECOND) == found
    record = cloud.transfers.get("mine")
    assert record is not None
    assert (record.running, record.plan) == (True, None)
    assert (cloud.agents.membership(shared("mine")), cloud.agents.progress(shared("mine"), "s0")) == (None, None)
    assert cloud.nodes.of("mine") == []
    assert cloud.locks.acquire(DESTINATION_ID, "/restore", "other") == Busy("mine")


def test_transfer_of_another_format_is_not_resumed_and_stays_as_it_is() -> None:
    cloud = Cloud()
    old = transfer().model_copy(update={"format_version": 1})
    cloud.transfers.create(old)
    cloud.transfers.change(old, transfer_life.close("FAILED"))
    with pytest.raises(InvalidRequest, match=r"transfer 'first' has records of format 1.* under a new name"):
        run(cloud, request(name="first", resume=True), name="first-attempt2", arn="arn:second")
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.transfer.run, record.status) == (1, "FAILED")


def test_what_has_not_ended_is_not_resumed() -> None:
    cloud = Cloud()
    run(cloud, request(name="mine"))
    with pytest.raises(TransferRunning, match="'mine' has not ended"):
        run(
            cloud,
            request(name="mine", resume=True),
            arn=SECOND,
        )
    assert cloud.locks.acquire(DESTINATION_ID, "/restore", "other") == Busy("mine")


def test_what_a_late_state_opened_again_is_waited_for_and_resumed_once_it_is_taken_down() -> None:
    cloud = Cloud()
    cloud.transfers.change(ended(cloud), transfer_life.FENCE)
    cloud.transfers.change(transfer("mine"), transfer_life.REOPEN)
    with pytest.raises(TransferEnding, match="'mine' is still being taken down"):
        run(
            cloud,
            request(name="mine", resume=True),
            arn=SECOND,
        )
    cloud.executions.statuses[ARN] = "ABORTED"
    minute(cloud)
    assert (
        run(
            cloud,
            request(name="mine", resume=True),
            arn=SECOND,
        ).run
        == 2
    )


def test_what_never_was_is_not_resumed() -> None:
    with pytest.raises(NoSuchTransfer, match="there is no transfer 'mine'"):
        run(Cloud(), request(name="mine", resume=True))


def test_resumed_with_other_paths_is_refused_line_by_line() -> None:
    cloud = Cloud()
    ended(cloud)
    other = request(name="mine", resume=True)
    other["source"] = {**other["source"], "paths": ["/data/other"]}
    other["destination"] = {**other["destination"], "path": "/elsewhere"}
    with pytest.raises(InvalidRequest) as error:
        run(cloud, other, arn=SECOND)
    assert [problem.split(":")[0] for problem in error.value.problems] == ["$.source.paths", "$.destination.path"]
    record = cloud.transfers.get("mine")
    assert record is not None
    assert record.ended


def test_third_regions_are_those_of_the_deployment_that_are_no_ends() -> None:
    cloud = Cloud(third=("eu-central-1", "us-east-1"))
    cloud.groups["us-east-1"].vpc_id = "vpc-east"
    found = run(cloud, request(relays={"through": "auto"}))
    assert [(one.region, one.vpc_id) for one in found.transit] == [
        ("eu-central-1", "vpc-transit"),
        ("us-east-1", "vpc-east"),
    ]


def test_only_named_third_regions_are_allowed_in_their_order() -> None:
    cloud = Cloud(third=("eu-central-1", "us-east-1"))
    found = run(cloud, request(relays={"through": ["us-east-1"]}))
    assert [one.region for one in found.transit] == ["us-east-1"]
    assert run(Cloud(), request()).transit == []


def test_third_region_without_the_deployments_stack_is_refused_by_name_and_left_out_of_auto() -> None:
    cloud = Cloud(third=("eu-central-1", "us-east-1"))
    cloud.groups["us-east-1"] = MemoryGroups(names=())
    with pytest.raises(
        InvalidRequest, match=r"\$\.relays\.through\[1\]: 'us-east-1' has no security group 'cpt-relay'"
    ):
        run(cloud, request(relays={"through": ["eu-central-1", "us-east-1"]}))
    found = run(cloud, request(relays={"through": "auto"}))
    assert [one.region for one in found.transit] == ["eu-central-1"]


def test_several_machines_have_a_seat_each_in_their_order() -> None:
    cloud = with_machines(many(2, 3))
    found = run(cloud, asked(2, 3))
    assert [seat.seat_id for seat in found.seats] == ["r0", "r1", "r2", "s0", "s1"]
    assert [seat.machine.instance_id for seat in found.receivers] == machine_ids(DESTINATION_ID, 3)
    assert found.receivers[2].machine.private_address == "10.11.0.3"


def test_of_several_machines_the_one_that_cannot_serve_is_named() -> None:
    cloud = with_machines(many(2, 2))
    other = machine_ids(SOURCE_ID, 2)[1]
    machine = cloud.compute[WEST].machines[other]
    machine.instance = replace(machine.instance, state="stopped")
    with pytest.raises(InvalidRequest) as error:
        run(cloud, asked(2, 2))
    assert error.value.problems == [f"$.source.instanceIds[1]: '{other}' is stopped; start it first"]


def test_machines_of_one_end_in_two_networks_are_refused() -> None:
    cloud = with_machines(many(1, 2))
    first, other = machine_ids(DESTINATION_ID, 2)
    machine = cloud.compute[IRELAND].machines[other]
    machine.instance = replace(machine.instance, vpc_id="vpc-other")
    with pytest.raises(InvalidRequest) as error:
        run(cloud, asked(1, 2))
    assert error.value.problems == [
        f"$.destination.instanceIds[1]: '{other}' is in vpc-other, and '{first}' in vpc-destination; "
        "name machines of one VPC"
    ]


@pytest.mark.parametrize(("held", "path"), [(0, "/restore/below"), (1, "/restore")])
def test_whoever_writes_at_one_of_the_machines_is_in_the_way(held: int, path: str) -> None:
    cloud = with_machines(many(2, 2))
    machine = machine_ids(DESTINATION_ID, 2)[held]
    cloud.locks.acquire(machine, path, "other")
    with pytest.raises(DestinationBusy, match=f"on {machine} overlaps with what transfer 'other' writes"):
        run(cloud, asked(2, 2))
    for one in machine_ids(DESTINATION_ID, 2):
        assert isinstance(cloud.locks.acquire(one, "/elsewhere", "third"), Holding)


def test_all_machines_of_a_destination_receive_at_one_port() -> None:
    cloud = with_machines(many(1, 2))
    first, other = machine_ids(DESTINATION_ID, 2)
    cloud.locks.acquire(first, "/a", "one")
    cloud.locks.acquire(other, "/b", "two")
    cloud.locks.acquire(other, "/c", "three")
    assert run(cloud, asked(1, 2)).receiver_port == RECEIVER_PORTS[2]
    cloud.locks.release(first, "first")
    assert isinstance(cloud.locks.acquire(other, "/restore", "late"), Busy)


def test_who_finished_an_earlier_run_says_nothing_about_the_next_one() -> None:
    accepted = many(2, 2, "mine")
    cloud = with_machines(accepted)
    first = run(cloud, asked(2, 2, name="mine"), name="mine")
    cloud.chunks.finishes[first.partition] = Finish(seat="s1", epoch=1, receiver="r1")
    tear_down(TearDownInput(execution_arn=ARN, transfer=first), cloud.world)
    cloud.transfers.change(first, transfer_life.close("FAILED"))
    again = run(cloud, asked(2, 2, name="mine", resume=True), name="mine-attempt2", arn=SECOND)
    assert (again.run, cloud.chunks.finish(again.partition)) == (2, None)


def test_a_transfer_is_resumed_with_the_machines_that_it_had() -> None:
    accepted = many(2, 2, "mine")
    cloud = with_machines(accepted)
    first = run(cloud, asked(2, 2, name="mine"), name="mine")
    tear_down(TearDownInput(execution_arn=ARN, transfer=first), cloud.world)
    cloud.transfers.change(first, transfer_life.close("FAILED"))
    with pytest.raises(InvalidRequest, match=r"\$.source.instanceId: .* was 'i-.* and i-.*' when 'mine' began"):
        run(cloud, asked(1, 2, name="mine", resume=True), name="mine-attempt2", arn=SECOND)
