import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.errors import AgentBusy, PathUnreachable
from lambdas.core.fleet.layout import Layout
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.resolve_paths import LISTEN_SECONDS, ResolveInput, resolve_paths
from tests.lambdas.buckets import from_bucket, from_bucket_to_many, to_bucket
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST, transfer, with_machine
from tests.lambdas.cloud import Cloud
from tests.lambdas.machines import failed, printed
from tests.lambdas.many import many, with_machines
from tests.lambdas.services import MemoryGroups


def run(cloud: Cloud, accepted: AcceptedTransfer) -> ResolvedPaths:
    cloud.transfers.create(accepted)
    return resolve_paths(ResolveInput(transfer=accepted), cloud.world)


def test_over_the_internet_hops_between_regions_use_public_addresses() -> None:
    cloud = Cloud()
    found = run(cloud, transfer())
    assert (found.inter_region, found.receiver_address) == ("public", "54.1.0.1:4601")
    assert found.receiver_inside_address == "10.11.0.1:4601"
    (rule,) = cloud.groups[IRELAND].admitted
    assert (rule.group_id, rule.address, rule.transfer_id) == ("vpc-destination/cpt-endpoint", "54.0.0.1", "first")
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.paths == found


@pytest.mark.parametrize("accepted", [to_bucket(), from_bucket()], ids=["to a bucket", "from a bucket"])
def test_two_daemons_of_one_machine_meet_within_it_and_nothing_is_opened_or_asked(accepted: AcceptedTransfer) -> None:
    cloud = Cloud()
    found, own = run(cloud, accepted), accepted.at_source.private_address
    assert (found.inter_region, found.source_address, found.receiver_address) == ("private", own, f"{own}:4601")
    assert all(not groups.admitted for groups in cloud.groups.values())
    assert all(not commands.sent for commands in cloud.commands.values())
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.paths == found


def test_machines_that_read_a_bucket_may_reach_one_another_where_their_group_is_there() -> None:
    accepted = from_bucket_to_many()
    cloud = with_machines(accepted)
    found = run(cloud, accepted)
    assert found.receiver_address == "10.11.0.1:4601"
    admitted = [(rule.group_id, rule.address) for rule in cloud.groups[IRELAND].admitted]
    assert admitted == [("vpc-destination/cpt-endpoint", f"10.11.0.{number}") for number in (1, 2)]
    paths = Layout.of(accepted).direct_paths(found, 4)
    assert [(path.sender, path.receiver) for path in paths] == [(None, "10.11.0.1:4601"), ("s1", "10.11.0.2:4601")]
    assert all(not commands.sent for commands in cloud.commands.values())


def test_over_peering_they_use_private_ones() -> None:
    cloud = Cloud(inter_region_path="peering")
    found = run(cloud, transfer())
    assert (found.inter_region, found.receiver_address) == ("private", "10.11.0.1:4601")
    assert cloud.groups[IRELAND].admitted[0].address == "10.10.0.1"


def test_both_machines_are_asked() -> None:
    cloud = Cloud()
    run(cloud, transfer())
    (_, listener, listen) = cloud.commands[IRELAND].sent[0]
    (_, caller, connect) = cloud.commands[WEST].sent[0]
    assert (listener, caller) == (DESTINATION_ID, SOURCE_ID)
    assert listen is not None
    assert connect is not None
    assert (listen["mode"], listen["listen"]) == ("listen", ["10.11.0.1:4601", "54.1.0.1:4601"])
    assert (connect["mode"], connect["address"]) == ("connect", "54.1.0.1:4601")


@pytest.mark.parametrize("answer", [printed({"reachable": False, "reason": "timed out"}), failed("timed out")])
def test_unreachable_destination_is_told_with_addresses_port_and_what_to_check(answer: object) -> None:
    cloud = Cloud()
    cloud.commands[WEST].scripts["probe"] = lambda _: answer  # type: ignore[assignment,return-value]
    with pytest.raises(PathUnreachable) as error:
        run(cloud, transfer())
    for words in ("54.0.0.1", "54.1.0.1:4601", "cpt-endpoint", "timed out"):
        assert words in str(error.value)


@pytest.mark.parametrize(
    ("listener", "caller", "told"),
    [
        (None, failed("timed out"), "Destination said: it still waits"),
        (failed("cannot read s3://daemon"), None, "cannot read s3://daemon"),
    ],
)
def test_where_one_probe_has_failed_nobody_waits_for_the_other(
    listener: CommandResult | None, caller: CommandResult | None, told: str
) -> None:
    cloud = Cloud()
    cloud.commands[IRELAND].scripts["probe"] = lambda _: listener
    cloud.commands[WEST].scripts["probe"] = lambda _: caller
    before = cloud.clock.monotonic()
    with pytest.raises(PathUnreachable, match=told):
        run(cloud, transfer())
    assert cloud.clock.monotonic() - before < LISTEN_SECONDS


def reachable_once_someone_listens(cloud: Cloud) -> None:
    """Whether the other probe gets through is up to the listener, which has its time from when its agent begins."""

    def call(_: object) -> CommandResult:
        began = DESTINATION_ID not in cloud.commands[IRELAND].busy
        return printed({"reachable": True}) if began else failed("Connection refused")

    cloud.commands[WEST].scripts["probe"] = call


def test_agent_of_the_destination_that_begins_late_is_no_unreachable_path() -> None:
    cloud = Cloud()
    reachable_once_someone_listens(cloud)
    cloud.commands[IRELAND].busy.add(DESTINATION_ID)
    cloud.clock.at(150, lambda: cloud.commands[IRELAND].free(DESTINATION_ID, "probe"))
    assert run(cloud, transfer()).direct_reachable


def test_listener_whose_time_was_up_before_the_sources_agent_began_listens_again() -> None:
    cloud = Cloud()
    listened = iter([failed("nobody connected within 60 s"), printed({"reachable": True})])
    cloud.commands[IRELAND].scripts["probe"] = lambda _: next(listened)
    cloud.commands[WEST].busy.add(SOURCE_ID)
    cloud.clock.at(150, lambda: cloud.commands[WEST].free(SOURCE_ID, "probe"))
    assert run(cloud, transfer()).direct_reachable
    assert cloud.commands[IRELAND].commands == 2


@pytest.mark.parametrize(("region", "machine"), [(WEST, SOURCE_ID), (IRELAND, DESTINATION_ID)])
def test_agent_that_never_begins_is_named_instead_of_groups_and_routes(region: str, machine: str) -> None:
    cloud = Cloud()
    reachable_once_someone_listens(cloud)
    cloud.commands[region].busy.add(machine)
    with pytest.raises(AgentBusy, match=f"the SSM agent of {machine}"):
        run(cloud, transfer())


def test_machine_without_public_address_is_refused_on_the_internet_path() -> None:
    accepted = transfer()
    alone = with_machine(accepted, "s0", public_address=None)
    with pytest.raises(PathUnreachable, match="has no public address"):
        run(Cloud(), alone)


def test_vpc_that_is_not_enrolled_is_named() -> None:
    cloud = Cloud()
    cloud.groups[IRELAND] = MemoryGroups(names=())
    with pytest.raises(PathUnreachable, match="'cpt-endpoint' is not in vpc-destination"):
        run(cloud, transfer())


def test_each_of_several_senders_may_reach_all_receivers_and_each_path_is_proven() -> None:
    accepted = many(2, 3)
    cloud = with_machines(accepted)
    run(cloud, accepted)
    assert {rule.address for rule in cloud.groups[IRELAND].admitted} == {"54.0.0.1", "54.0.0.2"}
    called = {(machine, command["address"]) for _, machine, command in cloud.commands[WEST].sent if command}
    first, second = (seat.machine.instance_id for seat in accepted.senders)
    assert called == {(first, "54.1.0.1:4601"), (second, "54.1.0.2:4601"), (first, "54.1.0.3:4601")}
    listened = [command["listen"] for _, _, command in cloud.commands[IRELAND].sent if command]
    assert sorted(listened) == [[f"10.11.0.{at}:4601", f"54.1.0.{at}:4601"] for at in (1, 2, 3)]


def test_of_several_machines_the_one_that_is_not_reached_is_named() -> None:
    accepted = many(2, 2)
    cloud = with_machines(accepted)
    other = accepted.seat("s1").machine.instance_id
    no = printed({"reachable": False, "reason": "timed out"})
    cloud.commands[WEST].scripts["probe"] = lambda command: (
        no if command and command["address"] == "54.1.0.2:4601" else printed({"reachable": True})
    )
    with pytest.raises(PathUnreachable, match=f"{other} \\(54.0.0.2\\) does not reach .* at 54.1.0.2:4601"):
        run(cloud, accepted)
