"""Two transfers into one directory through different machines exclude each other; into others they do not."""

from typing import Any

import pytest

from lambdas.core.ends.hdfs import DestinationHdfs
from lambdas.core.errors import DestinationBusy, DestinationTaken
from lambdas.core.intake.destination_lock import NOWHERE, Busy, Holding
from lambdas.core.survey.survey import DestinationSurvey
from lambdas.core.transfer.accepted import RECEIVER_PORTS, AcceptedTransfer
from lambdas.operations.intake import holding
from lambdas.operations.intake.surveying import hold
from tests.lambdas.buckets import from_many_to_bucket
from tests.lambdas.builders import IRELAND, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.intake.test_shared_directories import Mount
from tests.lambdas.hdfs import NEAR, hdfs_destination, way_in

OTHERS = {"one": "i-0bbbbbbbbbbbbbbb2", "two": "i-0ccccccccccccccc3"}


def arriving(cloud: Cloud, name: str, **asked: Any) -> AcceptedTransfer:
    """A transfer of this name, to a machine of its own."""
    destination = {"instanceId": OTHERS[name], "region": IRELAND, "path": f"/mnt/{name}"}
    found = transfer(name, destination=destination, **asked)
    machine = found.receivers[0].machine.model_copy(update={"instance_id": OTHERS[name]})
    seat = found.receivers[0].model_copy(update={"machine": machine})
    found = found.model_copy(update={"receivers": [seat]})
    cloud.transfers.create(found)
    return found


@pytest.mark.parametrize(("when_busy", "error"), [("refuse", DestinationBusy), ("wait", DestinationTaken)])
@pytest.mark.parametrize("path", [("a", "b"), ("a",), ("a", "b", "new", "new")])
def test_of_two_transfers_into_one_directory_the_second_is_refused_by_name(
    path: tuple[str, ...], when_busy: str, error: type[Exception]
) -> None:
    cloud = Cloud()
    one, two = arriving(cloud, "one"), arriving(cloud, "two", whenBusy=when_busy)
    hold(one, Mount(device=52).destination(("a", "b"), 2), cloud.world)
    there = Mount(exported=("a",), device=60, point=("srv",)).destination(path, min(len(path), 2))
    words = "on i-0ccccccccccccccc3 overlaps with what transfer 'one' writes through another machine"
    with pytest.raises(error, match=words):
        hold(two, there, cloud.world)
    hold(one, Mount(device=52).destination(("a", "b"), 2), cloud.world)
    holding.release(cloud.world, one)
    hold(two, there, cloud.world)
    with pytest.raises(DestinationBusy, match="transfer 'two' writes through another machine"):
        hold(one, Mount(device=52).destination(("a", "b"), 2), cloud.world)


def test_directories_beside_each_other_of_one_file_system_are_free() -> None:
    cloud = Cloud()
    hold(arriving(cloud, "one"), Mount(device=52).destination(("a", "b"), 2), cloud.world)
    hold(arriving(cloud, "two"), Mount(device=60).destination(("a", "c"), 2), cloud.world)


def test_disks_of_two_machines_that_look_alike_are_free() -> None:
    cloud = Cloud()
    for name in OTHERS:
        hold(arriving(cloud, name), Mount(kind="xfs").destination(("a",), 1), cloud.world)


def test_what_is_taken_again_takes_the_place_of_what_was_held() -> None:
    cloud = Cloud()
    one, two = arriving(cloud, "one"), arriving(cloud, "two")
    hold(one, Mount().destination(("a",), 1), cloud.world)
    hold(one, Mount().destination(("b",), 1), cloud.world)
    hold(two, Mount(device=60).destination(("a",), 1), cloud.world)


def test_what_is_refused_keeps_nobody_out() -> None:
    cloud = Cloud()
    one, two = arriving(cloud, "one"), arriving(cloud, "two")
    hold(one, Mount().destination(("a", "b"), 2), cloud.world)
    with pytest.raises(DestinationBusy):
        hold(two, Mount(device=60).destination(("a",), 1), cloud.world)
    holding.release(cloud.world, one)
    hold(one, Mount().destination(("a", "c"), 2), cloud.world)


def test_machines_that_write_one_bucket_have_one_port_that_is_free_at_all_of_them() -> None:
    cloud, accepted = Cloud(), from_many_to_bucket(2)
    first, second = accepted.request.source.machine_ids
    taken = [RECEIVER_PORTS[0], RECEIVER_PORTS[1]]
    cloud.world.locks.acquire(first, NOWHERE, "one", ports=[taken[1]])
    cloud.world.locks.acquire(second, NOWHERE, "another", ports=[taken[0]])
    held = holding.acquire(cloud.world, accepted)
    assert isinstance(held, Holding)
    assert held.port == RECEIVER_PORTS[2]
    holding.release(cloud.world, accepted)
    again = holding.acquire(cloud.world, accepted.model_copy(update={"transfer_id": "second"}))
    assert isinstance(again, Holding)
    busy = holding.acquire(cloud.world, accepted)
    assert isinstance(busy, Busy)
    assert busy.holder == "second"


def of_worker(cloud: Cloud, name: str, path: str) -> AcceptedTransfer:
    """A transfer of this name into HDFS, by a worker of its own."""
    found = arriving(cloud, name)
    asked = hdfs_destination(workers=1, path=path) | {"workers": [OTHERS[name]]}
    request = found.request.model_copy(update={"destination": DestinationHdfs.from_document(asked)})
    return found.model_copy(update={"request": request})


def into(inodes: str, path: str, missing: str = "") -> DestinationSurvey:
    found: DestinationSurvey = survey().destination.model_copy(
        update={"ways": [way_in(NEAR, inodes, path, missing=missing)]}
    )
    return found


def test_of_two_transfers_into_one_directory_of_hdfs_by_different_workers_the_second_is_refused() -> None:
    cloud = Cloud()
    one, two = of_worker(cloud, "one", "/backup/a"), of_worker(cloud, "two", "/backup")
    hold(one, into("16385 16390", "/backup", "a"), cloud.world)
    words = "'hdfs:/backup' by i-0ccccccccccccccc3 overlaps with what transfer 'one' writes through another machine"
    with pytest.raises(DestinationBusy, match=words):
        hold(two, into("16385 16390", "/backup"), cloud.world)
    hold(of_worker(cloud, "two", "/backup/b"), into("16385 16390", "/backup", "b"), cloud.world)


def test_what_a_worker_writes_into_hdfs_keeps_nobody_from_that_path_on_its_disk() -> None:
    cloud = Cloud()
    disk, in_hdfs = arriving(cloud, "one"), of_worker(cloud, "one", "/mnt/one")
    in_hdfs = in_hdfs.model_copy(update={"transfer_id": "in-hdfs"})
    assert isinstance(holding.acquire(cloud.world, disk), Holding)
    held = holding.acquire(cloud.world, in_hdfs)
    assert isinstance(held, Holding)
    assert held.port != RECEIVER_PORTS[0], "both receive on one machine"
    deeper = of_worker(cloud, "one", "/mnt/one/below").model_copy(update={"transfer_id": "deeper"})
    assert holding.acquire(cloud.world, deeper) == Busy("in-hdfs")
