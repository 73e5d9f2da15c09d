"""HDFS with Kerberos at both ends: workers speak by delegation tokens, which end with the transfer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from local.hadoop.errors import HadoopMissingError
from local.hadoop.instances import on_instances
from local.hadoop.kdc import REALM
from local.hadoop.security import Guard
from local.hadoop.shared_classes import prepare
from tests.chaos.extent import only_full
from tests.e2e.account import END_TYPE, HOME, OTHER
from tests.e2e.buckets import allowing
from tests.e2e.test_hdfs import USER, Hdfs, Site, assert_whole, make_set

pytestmark = only_full

GUARDS = {HOME: Guard(rpc="privacy", data="privacy"), OTHER: Guard(rpc="integrity", encrypt="aes")}
"""The two clusters guard their bytes in different ways."""


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """Two clusters with Kerberos, each of a name node and two workers, which have keys of the user of the requests."""
    try:
        runtime = prepare()
    except HadoopMissingError as missing:
        pytest.skip(str(missing))
    with ExitStack() as stack:
        account = stack.enter_context(allowing(tmp_path_factory.mktemp("kerberos")))
        sites = []
        for region in (HOME, OTHER):
            names = ("name node", "worker 1", "worker 2")
            machines = [account.cloud.launch_vm(region, name, END_TYPE, wait=False) for name in names]
            for machine in machines:
                account.cloud.wait_online(region, machine)
            try:
                placed = on_instances(runtime, account.cloud, region, machines[0], machines[1:], guard=GUARDS[region])
                cluster = stack.enter_context(placed)
            except HadoopMissingError as missing:
                pytest.skip(str(missing))
            security = cluster.options.security
            assert security is not None
            for worker in machines[1:]:
                line = f"keytab {USER} {security.key_table(USER)} {USER}@{REALM}"
                file = account.cloud.state.instances / worker / "etc/hdfs-kerberos"
                file.write_text(f"{line}\n", encoding="utf-8")
                file.chmod(0o600)
            for directory in ("/in", "/out"):
                cluster.shell("-mkdir", directory)
                cluster.shell("-chown", USER, directory)
            sites.append(Site(region, machines[1:], cluster))
        yield Hdfs(account, *sites)


def tokens(site: Site) -> tuple[set[str], set[str]]:
    """Numbers of the tokens that the name node has given to the user of the requests, and of those cancelled."""
    log = site.hadoop.name_node.machine.log.read_text(errors="replace")
    said = re.findall(rf"cmd=(get|cancel)DelegationToken\s+src=HDFS_DELEGATION_TOKEN token (\d+) for {USER} ", log)
    return {number for what, number in said if what == "get"}, {number for what, number in said if what == "cancel"}


def assert_no_token(hdfs: Hdfs) -> None:
    """Every token that was given has ended, and no file of one is left on a worker."""
    for site in (hdfs.source, hdfs.destination):
        given, cancelled = tokens(site)
        assert given, "there were tokens"
        assert given == cancelled, "each of them is cancelled at the name node"
        for worker in site.workers:
            private = hdfs.account.cloud.state.instances / worker / "private"
            assert [path for path in private.rglob("*") if path.is_file() and path.name != "program"] == []


def request_of(hdfs: Hdfs, paths: list[str], destination: str) -> dict[str, Any]:
    return {
        "source": hdfs.source.end(paths=paths),
        "destination": hdfs.destination.end(path=destination, replication=1),
        "relays": {"pairs": 0},
        "chunkSizeMiB": 4,
        "preTest": False,
    }


def test_a_tree_comes_from_one_cluster_to_another_and_every_token_ends(hdfs: Hdfs, tmp_path: Path) -> None:
    root = make_set(tmp_path / "set", 1)
    hdfs.source.put(root, "/in")
    run = hdfs.account.run(request_of(hdfs, ["/in/set"], "/out/whole"), "kerberos")
    assert_whole(hdfs, run, "kerberos")
    hdfs.destination.hadoop.shell("-get", "/out/whole/set", str(tmp_path / "got"))
    assert {
        path.relative_to(tmp_path / "got"): path.read_bytes()
        for path in (tmp_path / "got").rglob("*")
        if path.is_file()
    } == {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert_no_token(hdfs)


def test_a_user_whom_no_worker_has_keys_for_is_refused_before_anything_moves(hdfs: Hdfs) -> None:
    request = request_of(hdfs, ["/in"], "/out/refused")
    request["source"]["user"] = "admin"
    run = hdfs.account.run(request, "no-keys")
    assert run.error == "SurveyProblem"
    assert "keytab admin /FILE PRINCIPAL" in str(run.cause)
