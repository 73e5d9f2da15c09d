"""A staged copy whose middle is the product: between two Hadoops on a local cloud, by workers that are lent."""

import os
import random
import signal
import threading
from collections.abc import Iterator

import pytest

from bench.hdfs.staged import measure
from bench.hdfs.staged_job import Rates, StagedJob, StagingError
from bench.hdfs.staged_site import Site, laboratory
from local.hadoop.errors import HadoopMissingError
from local.hadoop.settings import Options
from local.hadoop.shared_classes import prepare
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER

pytestmark = only_full

FILE_BYTES = 3_000_000
RATES = Rates(inter_mb_s=20.0, intra_mb_s=160.0, boot_seconds=1.0)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    try:
        runtime = prepare()
    except HadoopMissingError as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("staged")
    with laboratory(runtime, folder, RATES, Options(block_bytes=1 << 20)) as made:
        for name in ("first", "second"):
            (folder / name).write_bytes(random.Random(name).randbytes(FILE_BYTES))
        made.source.shell("-mkdir", "-p", "/in/set")
        made.source.shell("-put", str(folder / "first"), str(folder / "second"), "/in/set")
        yield made


def assert_nothing_left(site: Site, name: str) -> None:
    """No staged byte, no daemon at either name node, no relay that was launched."""
    assert [side.staging.exists() for side in site.sides(name)] == [False, False]
    account = site.account
    assert [account.units(account.source, HOME), account.units(account.destination, OTHER)] == ["", ""]
    assert account.cloud.live_relays() == []


def test_the_product_moves_what_is_staged_with_the_workers_lent_as_relays(site: Site) -> None:
    found = measure(site, StagedJob(("/in/set",), "/out/whole", replication=1), name="whole")
    assert (found.data_bytes, found.files, found.report["status"]) == (2 * FILE_BYTES, 2, "SUCCEEDED")
    assert {node["provider"] for node in found.report["nodes"]} == {"lent"}
    assert len(found.report["nodes"]) == len(site.workers)
    assert found.report["cost"]["relays"] == 0
    assert min(found.stages.export_seconds, found.stages.transfer_seconds, found.stages.import_seconds) > 0
    assert site.destination.shell("-stat", "%r %b", "/out/whole/set/first").split() == ["1", str(FILE_BYTES)]
    assert_nothing_left(site, "whole")


def test_a_transfer_that_fails_ends_the_copy_and_leaves_nothing(site: Site) -> None:
    lent, site.workers = site.workers, [site.account.source, *site.workers[1:]]
    try:
        with pytest.raises(StagingError, match=r"transfer: FAILED: InvalidRequest: .*is an end of this transfer"):
            measure(site, StagedJob(("/in/set",), "/out/failed"), name="failed")
    finally:
        site.workers = lent
    assert_nothing_left(site, "failed")


def test_ctrl_c_while_data_moves_stops_the_transfer_and_leaves_nothing(site: Site) -> None:
    transfer = f"staged-{site.started + 1}"

    def press() -> None:
        site.account.cloud.wait_for(lambda: site.account.record(transfer, "membership"), 240)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            measure(site, StagedJob(("/in/set",), "/out/interrupted"), name="interrupted")
    finally:
        pressing.join()
        signal.signal(signal.SIGINT, before)
    arn = site.account.machine.replace(":stateMachine:", ":execution:") + f":{transfer}"
    assert site.account.describe(arn)["status"] == "ABORTED"
    assert_nothing_left(site, "interrupted")
