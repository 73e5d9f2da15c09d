import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.errors import PathUnreachable
from lambdas.core.transfer import AcceptedTransfer, ResolvedPaths
from lambdas.handlers.states.resolve_paths import LISTEN_SECONDS, ResolveInput, resolve_paths
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.machines import failed, printed
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


def test_machine_without_public_address_is_refused_on_the_internet_path() -> None:
    accepted = transfer()
    alone = accepted.model_copy(update={"source": accepted.source.model_copy(update={"public_address": None})})
    with pytest.raises(PathUnreachable, match="has no public address"):
        run(Cloud(), alone)


def test_vpc_that_is_not_enrolled_is_named() -> None:
    cloud = Cloud()
    cloud.groups[IRELAND] = MemoryGroups(names=())
    with pytest.raises(PathUnreachable, match="'cpt-endpoint' is not in vpc-destination"):
        run(cloud, transfer())
