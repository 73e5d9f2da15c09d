"""HDFS at an end: workers of a real Hadoop read and write it, and Hadoop's own shell looks for every byte."""

import grp
import json
import os
import pwd
import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.endpoints import launch_cluster
from local.hadoop.cluster import HadoopCluster
from local.hadoop.errors import HadoopMissingError
from local.hadoop.instances import on_instances
from local.hadoop.runtime import Runtime
from local.hadoop.shared_classes import prepare
from tests.chaos.extent import only_full
from tests.e2e.account import END_TYPE, HOME, OTHER, Account, Run
from tests.e2e.buckets import BUCKET, allowing
from tests.e2e.files import tree

USER = "etl"
MIB = 1 << 20
LARGE = 3 * 4 * MIB + 12_345
"""Four parts of 4 MiB, of which the last one is smaller."""


@dataclass(frozen=True)
class Site:
    """A Hadoop in one region."""

    region: str
    workers: list[str]
    hadoop: HadoopCluster

    def end(self, **more: Any) -> dict[str, Any]:
        """It as an end of a request."""
        return {"kind": "hdfs", "workers": self.workers, "region": self.region, "user": USER, **more}

    def put(self, root: Path, into: str) -> None:
        """Bring a tree there, whose owner is the user of the requests."""
        self.hadoop.shell("-mkdir", "-p", into)
        self.hadoop.shell("-put", "-p", str(root), into)
        self.hadoop.shell("-chown", "-R", USER, into)

    def get(self, path: str, into: Path) -> Path:
        """What lies there, on this machine, with modes and times.

        The shell brings the owner too, who must be one here.
        """
        owner = f"{pwd.getpwuid(os.geteuid()).pw_name}:{grp.getgrgid(os.getegid()).gr_name}"
        self.hadoop.shell("-chown", "-R", owner, path)
        self.hadoop.shell("-get", "-p", path, str(into))
        return into


@dataclass(frozen=True)
class Hdfs:
    """A deployment, and a Hadoop in each of its two regions."""

    account: Account
    source: Site
    destination: Site


def make_set(root: Path, seed: int) -> Path:
    """A tree of what HDFS can have: times in whole milliseconds, and neither links nor names that are not UTF-8."""
    randomness = random.Random(seed)
    (root / "deep" / "er ä").mkdir(parents=True)
    (root / "empty directory").mkdir(mode=0o711)
    for number in range(25):
        small = root / "deep" / "er ä" / f"small {number}.bin"
        small.write_bytes(randomness.randbytes(randomness.randrange(1, 20_000)))
    (root / "empty").touch()
    (root / "top.bin").write_bytes(b"top")
    (root / "large.bin").write_bytes(randomness.randbytes(LARGE))
    (root / "large.bin").chmod(0o640)
    for number, path in enumerate(sorted(root.rglob("*"), reverse=True)):
        os.utime(path, ns=(0, (1_600_000_000_000 + 1_001 * number) * 1_000_000))
    return root


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    """Hadoop, where this machine has it."""
    try:
        return prepare()
    except HadoopMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory, runtime: Runtime) -> Iterator[Hdfs]:
    """Two clusters, each of a name node and two workers with data."""
    with ExitStack() as stack:
        account = stack.enter_context(allowing(tmp_path_factory.mktemp("hdfs")))
        sites = []
        for region in (HOME, OTHER):
            names = ("name node", "worker 1", "worker 2")
            machines = [account.cloud.launch_vm(region, name, END_TYPE, wait=False) for name in names]
            for machine in machines:
                account.cloud.wait_online(region, machine)
            cluster = stack.enter_context(on_instances(runtime, account.cloud, region, machines[0], machines[1:]))
            for directory in ("/in", "/out"):
                cluster.shell("-mkdir", directory)
                cluster.shell("-chown", USER, directory)
            sites.append(Site(region, machines[1:], cluster))
        yield Hdfs(account, *sites)


def assert_whole(hdfs: Hdfs, run: Run, name: str) -> None:
    """It has succeeded and is verified; no rule or machine of it is left."""
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert run.report["verified"]
    into_hdfs = run.report["request"]["destination"]["kind"] == "hdfs"
    assert run.report.get("storedChecksums", False) == into_hdfs
    for region in (HOME, OTHER):
        assert hdfs.account.rules(name, region) == []
        assert hdfs.account.launched(name, region) == []


def assert_distcp_beside(run: Run, files: int) -> None:
    """The report has what DistCp would have taken, by 10 maps at 0.5 MB/s and the dissertation's start."""
    estimate = run.report["estimate"]
    figures = {name: figure for name, figure in estimate["figures"].items() if name.startswith("distcp")}
    assert {name: figure["origin"] for name, figure in figures.items()} == {
        "distcpSeconds": "assumed",
        "distcpMaps": "configured",
        "distcpMapMBps": "configured",
        "distcpStartSeconds": "assumed",
    }
    rounds = -(-files // 10)
    expected = 100 + rounds * estimate["bytes"] / 1e6 / files / 0.5
    assert figures["distcpSeconds"]["value"] == pytest.approx(expected, abs=0.001)
    assert f"{files} files" in figures["distcpSeconds"]["note"]


def test_a_tree_of_one_hdfs_comes_to_another_one_by_all_workers_of_both(hdfs: Hdfs, tmp_path: Path) -> None:
    root = make_set(tmp_path / "set", 1)
    hdfs.source.put(root, "/in")
    request = {
        "source": hdfs.source.end(paths=["/in/set"]),
        "destination": hdfs.destination.end(path="/out/whole", replication=1),
        "relays": {"pairs": 0},
        "distcp": {"maps": 10, "mapMBps": 0.5},
        "chunkSizeMiB": 4,
        "preTest": False,
    }
    run = hdfs.account.run(request, "hdfs-to-hdfs")
    assert_whole(hdfs, run, "hdfs-to-hdfs")
    assert_distcp_beside(run, files=28)
    assert tree(hdfs.destination.get("/out/whole/set", tmp_path / "got")) == tree(root)
    listed = hdfs.destination.hadoop.shell("-ls", "-R", "/out/whole")
    assert ".cpt-partial-" not in listed, "nothing but the files asked for"
    assert {seat["seatId"] for seat in run.report["seats"]} == {"s0", "s1", "r0", "r1"}


@only_full
def test_what_lies_in_hdfs_becomes_objects_of_a_bucket_and_comes_back(hdfs: Hdfs, tmp_path: Path) -> None:
    root = make_set(tmp_path / "set", 2)
    hdfs.source.put(root, "/in/to-bucket")
    bucket = {"kind": "bucket", "bucket": BUCKET, "prefix": "from-hdfs/", "region": OTHER}
    there = {"source": hdfs.source.end(paths=["/in/to-bucket/set/"]), "destination": bucket, "chunkSizeMiB": 8}
    assert_whole(hdfs, hdfs.account.run(there, "hdfs-to-bucket"), "hdfs-to-bucket")
    objects = hdfs.account.cloud.client("s3", OTHER).list_objects_v2(Bucket=BUCKET, Prefix="from-hdfs/")["Contents"]
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    assert {item["Key"].removeprefix("from-hdfs/"): item["Size"] for item in objects} == {
        name: path.stat().st_size for name, path in files.items()
    }
    back = {"source": bucket, "destination": hdfs.destination.end(path="/out/from-bucket"), "chunkSizeMiB": 4}
    assert_whole(hdfs, hdfs.account.run(back, "bucket-to-hdfs"), "bucket-to-hdfs")
    got = hdfs.destination.get("/out/from-bucket", tmp_path / "got")
    assert {path.relative_to(got).as_posix() for path in got.rglob("*") if path.is_file()} == set(files)
    assert all((got / name).read_bytes() == path.read_bytes() for name, path in files.items())


@only_full
def test_a_second_run_sends_what_differs_and_removes_what_is_gone(hdfs: Hdfs, tmp_path: Path) -> None:
    root = make_set(tmp_path / "set", 3)
    hdfs.source.put(root, "/in/again")
    request = {
        "source": hdfs.source.end(paths=["/in/again/set"]),
        "destination": hdfs.destination.end(path="/out/again"),
        "relays": {"pairs": 0},
        "chunkSizeMiB": 4,
        "preTest": False,
    }
    first = hdfs.account.run(request, "first-into-hdfs")
    assert_whole(hdfs, first, "first-into-hdfs")
    (root / "empty").write_bytes(b"changed")
    (root / "top.bin").unlink()
    hdfs.source.hadoop.shell("-put", "-f", str(root / "empty"), "/in/again/set/")
    hdfs.source.hadoop.shell("-rm", "-skipTrash", "/in/again/set/top.bin")
    hdfs.source.hadoop.shell("-chown", "-R", USER, "/in/again")
    mirror = {"delete": True, "confirmDelete": "without-dry-run"}
    second = hdfs.account.run(request | mirror, "second-into-hdfs")
    assert_whole(hdfs, second, "second-into-hdfs")
    assert second.report["bytes"] < 100, "what is there is not sent again"
    got = hdfs.destination.get("/out/again/set", tmp_path / "got")
    assert (got / "empty").read_bytes() == b"changed"
    assert not (got / "top.bin").exists(), "a mirror removes what the source has no more"


@only_full
def test_the_fewest_pairs_that_take_no_longer_than_distcp_are_launched(hdfs: Hdfs, tmp_path: Path) -> None:
    root = make_set(tmp_path / "set", 6)
    hdfs.source.put(root, "/in/as-distcp")
    # No number of pairs is as fast as this, and the direct path alone is faster than the other.
    for name, start, words in (("slower-than", 1, "none takes at most as long"), ("faster-than", 3000, "is needed")):
        request = {
            "source": hdfs.source.end(paths=["/in/as-distcp/set"]),
            "destination": hdfs.destination.end(path=f"/out/{name}"),
            "objective": {"minimise": "pairs"},
            "distcp": {"maps": 40, "mapMBps": 1000, "startSeconds": start},
            "chunkSizeMiB": 4,
            "preTest": False,
        }
        run = hdfs.account.run(request, f"{name}-distcp")
        assert_whole(hdfs, run, f"{name}-distcp")
        assert words in run.report["estimate"]["reason"]
        assert "DistCp" in run.report["estimate"]["reason"]


@only_full
def test_a_cluster_of_emr_serves_by_its_core_instances(hdfs: Hdfs, runtime: Runtime, tmp_path: Path) -> None:
    account, root = hdfs.account, make_set(tmp_path / "set", 7)
    made = launch_cluster(account.cloud.client, HOME, "emr", core=2, instance_type=END_TYPE)
    primary, *core = account.cloud.wait_for(lambda: _instances_of(account, made, 3), 60)
    for machine in (primary, *core):
        account.cloud.wait_online(HOME, machine)
    with on_instances(runtime, account.cloud, HOME, primary, core) as hadoop:
        Site(HOME, core, hadoop).put(root, "/in")
        request = {
            "source": {"kind": "hdfs", "clusterId": made, "region": HOME, "user": USER, "paths": ["/in/set"]},
            "destination": {**hdfs.destination.end(path="/out/of-emr"), "workers": hdfs.destination.workers[:1]},
            "relays": {"pairs": 0},
            "chunkSizeMiB": 4,
            "preTest": False,
        }
        run = account.run(request, "of-emr")
        assert_whole(hdfs, run, "of-emr")
    assert tree(hdfs.destination.get("/out/of-emr/set", tmp_path / "got")) == tree(root)
    assert run.report["request"]["source"]["workers"] == core
    assert run.report["request"]["source"]["clusterId"] == made
    account.cloud.client("emr", HOME).terminate_job_flows(JobFlowIds=[made])


def _instances_of(account: Account, cluster_id: str, count: int) -> list[str] | None:
    """The primary instance and the core instances of a cluster once so many run."""
    emr, running = account.cloud.client("emr", HOME), {"ClusterId": cluster_id, "InstanceStates": ["RUNNING"]}
    found = [
        instance_id
        for role in ("MASTER", "CORE")
        for instance_id in sorted(
            one["Ec2InstanceId"] for one in emr.list_instances(**running, InstanceGroupTypes=[role])["Instances"]
        )
    ]
    return found if len(found) == count else None


FAULTS = {
    "a data node of the source": ("source", "data-1"),
    "a data node of the destination": ("destination", "data-1"),
    "the name node of the source": ("source", "name"),
    "the name node of the destination": ("destination", "name"),
}


@only_full
@pytest.mark.parametrize("what", FAULTS)
def test_a_node_that_ends_and_comes_back_while_data_moves_costs_no_file(hdfs: Hdfs, tmp_path: Path, what: str) -> None:
    side, name = FAULTS[what]
    directory = what.replace(" ", "-")
    root = make_set(tmp_path / "set", 4)
    (root / "larger.bin").write_bytes(random.Random(5).randbytes(10 * LARGE // 4))
    os.utime(root / "larger.bin", (0, 1_600_000_000))
    hdfs.source.put(root, f"/in/{directory}")
    request = {
        "source": hdfs.source.end(paths=[f"/in/{directory}/set"]),
        "destination": hdfs.destination.end(path=f"/out/{directory}"),
        "relays": {"pairs": 0},
        "chunkSizeMiB": 4,
        "preTest": False,
        "bandwidthLimitMbps": 40,
    }
    arn = hdfs.account.start(request, directory)

    def has_come() -> bool:
        record = hdfs.account.record(directory, "progress#s0") or {}
        return int(json.loads(str(record.get("document", "{}"))).get("bytes", 0)) > 0

    hdfs.account.cloud.wait_for(has_come, 90)
    hadoop: HadoopCluster = getattr(hdfs, side).hadoop
    hadoop.daemon(name).kill()
    hadoop.daemon(name).start()
    hadoop.wait_live(2)
    assert_whole(hdfs, hdfs.account.wait(arn), directory)
    got = hdfs.destination.get(f"/out/{directory}/set", tmp_path / "got")
    assert tree(got) == tree(root)


@only_full
def test_owners_and_lists_arrive_and_then_what_changed_between_two_snapshots(hdfs: Hdfs, tmp_path: Path) -> None:
    root = make_set(tmp_path / "set", 4)
    source, superuser = hdfs.source.hadoop, pwd.getpwuid(os.geteuid()).pw_name
    hdfs.source.put(root, "/in/kept")
    source.shell("-chown", "bob:crew", "/in/kept/set/top.bin")
    source.shell("-setfacl", "-m", "user:carol:rw-", "/in/kept/set/large.bin")
    source.shell("-setfacl", "-m", "default:group:crew:r-x", "/in/kept/set/deep")
    source.shell("-setfattr", "-n", "user.note", "-v", "of a directory", "/in/kept/set/deep")
    source.hdfs("dfsadmin", "-allowSnapshot", "/in/kept")
    source.shell("-createSnapshot", "/in/kept", "s0")
    request: dict[str, Any] = {
        "source": hdfs.source.end(paths=["/in/kept/set"], user=superuser),
        "destination": hdfs.destination.end(path="/out/kept", user=superuser),
        "preserve": {"owners": "names", "acls": True, "xattrs": True},
        "relays": {"pairs": 0},
        "chunkSizeMiB": 4,
        "preTest": False,
    }
    assert_whole(hdfs, hdfs.account.run(request, "kept-in-hdfs"), "kept-in-hdfs")

    def kept(cluster: HadoopCluster, top: str) -> str:
        return cluster.shell("-getfacl", "-R", top) + cluster.shell("-getfattr", "-R", "-d", top)

    assert kept(hdfs.destination.hadoop, "/out/kept/set").replace("/out/", "/in/") == kept(source, "/in/kept/set")

    (root / "top.bin").write_bytes(b"changed")
    source.shell("-put", "-f", str(root / "top.bin"), "/in/kept/set/")
    source.shell("-mv", "/in/kept/set/empty", "/in/kept/set/moved")
    source.shell("-createSnapshot", "/in/kept", "s1")
    request["source"]["snapshotDiff"] = {"from": "s0", "to": "s1"}
    second = hdfs.account.run(request, "changed-in-hdfs")
    assert_whole(hdfs, second, "changed-in-hdfs")
    # Both files, and the directory that holds them.
    assert second.report["files"] == 3, "what is as it was is not even listed"
    there = hdfs.destination.hadoop.shell("-ls", "-R", "-C", "/out/kept/set")
    assert hdfs.destination.hadoop.shell("-cat", "/out/kept/set/top.bin") == "changed"
    assert "/out/kept/set/moved" in there
    assert "/out/kept/set/empty\n" in there, "what has gone stays: no mirror was asked for"
