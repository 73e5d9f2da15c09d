"""What ends with machines of their own have in common: machines of files, and workers of HDFS."""

from typing import Any

import pytest

from lambdas.core.ends.seated import DestinationPath, SourcePaths
from lambdas.core.request.request import TransferRequest
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST
from tests.lambdas.hdfs import hdfs_destination, hdfs_source
from tests.lambdas.many import asked, machine_ids


def ends(count: int, *, in_hdfs: bool, **keys: Any) -> tuple[SourcePaths, DestinationPath]:
    document = (
        {"source": hdfs_source(count), "destination": hdfs_destination(count)} if in_hdfs else asked(count, count)
    )
    for side in ("source", "destination"):
        document[side] |= keys
    found = TransferRequest.from_document(document)
    assert isinstance(found.source, SourcePaths)
    assert isinstance(found.destination, DestinationPath)
    return found.source, found.destination


@pytest.mark.parametrize("in_hdfs", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_its_machines_are_known_in_their_order_with_the_key_that_names_each(count: int, in_hdfs: bool) -> None:
    fields = {(1, False): "instanceId", (3, False): "instanceIds", (1, True): "workers", (3, True): "workers"}
    field = fields[count, in_hdfs]
    for end, first, region in zip(
        ends(count, in_hdfs=in_hdfs), (SOURCE_ID, DESTINATION_ID), (WEST, IRELAND), strict=True
    ):
        ids = machine_ids(first, count)
        assert (list(end.machine_ids), end.machines) == (ids, tuple((region, one) for one in ids))
        assert (end.regions, end.place.region) == ((region,), region)
        assert (end.machines_field, end.machine_words.split(" and ")[-1]) == (field, ids[-1])
        assert end.field_of(count - 1) == (field if field == "instanceId" else f"{field}[{count - 1}]")


@pytest.mark.parametrize("in_hdfs", [False, True])
def test_its_daemons_run_as_the_user_and_with_the_share_that_were_asked_for(in_hdfs: bool) -> None:
    for end in ends(1, in_hdfs=in_hdfs, runAs="hadoop", cpuWeight=20, ioWeight=30):
        assert (end.command({})["runAs"], end.share) == ("hadoop", (20, 30))
        assert end.command({"preserve": {"sparse": True}})["preserve"] == {"sparse": True}
    for end in ends(1, in_hdfs=in_hdfs):
        assert ("runAs" in end.command({}), end.share) == (False, (None, None))


@pytest.mark.parametrize("in_hdfs", [False, True])
def test_transfers_to_one_of_its_machines_share_a_lock(in_hdfs: bool) -> None:
    _, destination = ends(3, in_hdfs=in_hdfs)
    assert destination.lock_ids == tuple(machine_ids(DESTINATION_ID, 3))
