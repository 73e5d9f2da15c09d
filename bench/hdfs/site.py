"""Two Hadoops in two regions of a local cloud, a machine for DistCp's maps, and copies by either tool."""

from __future__ import annotations

import getpass
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.data_plane.process import BenchError
from bench.hdfs import buffers
from bench.hdfs.network import MAPS, RUNNER, WORKER, WORKERS, Rates
from bench.hdfs.web import Web
from bench.results import say
from local.cloud import LocalCloud
from local.config import LocalConfig
from local.hadoop.cluster import HadoopCluster
from local.hadoop.daemon import Daemon
from local.hadoop.distcp import PROGRAM, prepare_distcp, side_by_side
from local.hadoop.instances import environment_of, namespace_of, on_instances
from local.hadoop.runtime import Runtime
from local.hadoop.settings import Options
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.image import with_daemon

USER = "etl"
MIB = 1 << 20
BLOCK_MIB = 1
"""Of both clusters, and said in the request: a plan takes Hadoop's own 128 MiB where the request says none."""
REPLICATION = 2
INTERNET_SEGMENT = 1460
"""MSS of an internet gateway's packets. DistCp goes by private addresses, whose packets could be larger."""
STOCK: tuple[str, ...] = ()
BEST = (
    *("-numListstatusThreads", "40", "-strategy", "dynamic", "-blocksperchunk", "8", "-copybuffersize", "1048576"),
    *("-bandwidth", "10000", "-direct", "-useiterator"),
)
COPY_SECONDS = 900
RUNNER_HEAP_MB = 768


@dataclass(frozen=True)
class Side:
    """A Hadoop in one region."""

    region: str
    name_node: str
    workers: list[str]
    hadoop: HadoopCluster
    web: Web

    def end(self, **more: Any) -> dict[str, Any]:
        """It as an end of a request."""
        return {"kind": "hdfs", "workers": self.workers, "region": self.region, "user": USER, **more}


@dataclass(frozen=True)
class Copy:
    """One copy: `seconds` from the command to its end, and those in which data moved, as far as the tool says them."""

    seconds: float
    data_seconds: float | None = None
    report: dict[str, Any] | None = None


class Site:
    """Both clusters, and both tools."""

    def __init__(self, account: Account, source: Side, destination: Side, runtime: Runtime, runner: str) -> None:
        self.account, self.source, self.destination = account, source, destination
        cloud, self._count = account.cloud, 0
        self._there: set[str] = set()
        self._home = cloud.state.instances / runner
        hosts = self._home / "hosts"
        hosts.write_text(_hosts(_private(cloud, runner), [*source.hadoop.daemons, *destination.hadoop.daemons]))
        # A VPC answers who asks for the name of an address; here Java would wait for a name server that is not there.
        self._runtime = replace(runtime, options=(*runtime.options, f"-Djdk.net.hosts.file={hosts}"))
        self._prefix = ("nsenter", f"--net=/run/netns/{namespace_of(cloud, runner)}", "--")

    def files(self, mib: int, count: int) -> list[str]:
        """Paths of so many files of the source, all of one size; what is not there yet is put there."""
        paths = [f"/in/of-{mib}/{number:02}" for number in range(count)]
        if missing := [path for path in paths if path not in self._there]:
            local = random_file(self.account.work / f"file-{mib}", mib * MIB)
            for path in missing:
                self.source.web.create(path, local, USER)
                self._there.add(path)
            local.unlink()
        return paths

    def ours(self, paths: Sequence[str], name: str, **more: Any) -> Copy:
        """A whole execution from HDFS to HDFS; `more`: keys of the request. Raises BenchError where it fails."""
        target = self.target(name)
        request = {
            "source": self.source.end(paths=list(paths)),
            "destination": self.destination.end(path=target, replication=REPLICATION, blockSizeMiB=BLOCK_MIB),
            "relays": {"pairs": 0},
            "preTest": False,
            **more,
        }
        copy = self._execute(request, target.rpartition("/")[2])
        self.compare(paths, target)
        return copy

    def distcp(self, paths: Sequence[str], name: str, options: Sequence[str], maps: int = MAPS) -> Copy:
        """DistCp on a machine of the destination's region. Raises BenchError where it fails."""
        target = self.target(name)
        work = self._home / "mnt" / "distcp"
        work.mkdir(parents=True, exist_ok=True)
        command = self._runtime.command(
            PROGRAM, self.destination.hadoop.conf, work, heap_mb=RUNNER_HEAP_MB, quick=False, level="WARN"
        )
        asked = [*side_by_side(maps, work), f"-Ddfs.replication={REPLICATION}", *options, "-m", str(maps)]
        sources = [f"hdfs://{self.source.hadoop.address}{path}" for path in paths]
        began = time.monotonic()
        done = subprocess.run(
            [*self._prefix, *command, *asked, *sources, f"hdfs://{self.destination.hadoop.address}{target}"],
            env=environment_of(self._home),
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COPY_SECONDS,
            check=False,
        )
        seconds = time.monotonic() - began
        if done.returncode != 0:
            raise BenchError(f"{name}: DistCp ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
        self.compare(paths, target)
        return Copy(seconds)

    def staged_transfer(self, source: Path, destination: Path) -> float:
        """Seconds of a whole execution between the name nodes' own disks, with both sides' workers as lent relays."""
        lent = [*self.source.workers, *self.destination.workers]
        for side in (self.source, self.destination):
            tags = [{"Key": "cpt:lent-to", "Value": self.account.aws.deployment}]
            self.account.cloud.client("ec2", side.region).create_tags(Resources=side.workers, Tags=tags)
        request = {
            "source": {"instanceId": self.source.name_node, "region": HOME, "paths": [str(source)]},
            "destination": {"instanceId": self.destination.name_node, "region": OTHER, "path": str(destination)},
            "relays": {"pairs": 0, "existing": lent, "existingShare": 1.0},
            "preTest": False,
        }
        self._count += 1
        return self._execute(request, f"staged-{self._count}").seconds

    def empty(self, options: Sequence[str]) -> float:
        """T_0: seconds of DistCp for a copy of an empty file."""
        return self.distcp(["/in/empty"], "empty", options).seconds

    def _execute(self, request: dict[str, Any], name: str) -> Copy:
        arn = self.account.start(request, name)
        run = self.account.wait(arn, COPY_SECONDS)
        if run.status != "SUCCEEDED":
            raise BenchError(f"{name}: {run.error}: {run.cause}")
        told = self.account.describe(arn)
        seconds = (told["stopDate"] - told["startDate"]).total_seconds()
        return Copy(seconds, run.report["seconds"]["transfer"], run.report)

    def target(self, name: str) -> str:
        """A new folder of the destination, for the user of the requests."""
        self._count += 1
        target = f"/out/{name}-{self._count}"
        self.destination.web.make_directory(target, USER)
        return target

    def compare(self, paths: Sequence[str], target: str) -> None:
        """Hold what arrived against what was to be copied, and remove it. Raises BenchError."""
        for path in paths:
            came = f"{target}/{path.rpartition('/')[2]}"
            sent, got = self.source.web.proof(path), self.destination.web.proof(came)
            if sent != got:
                raise BenchError(f"{came}: {got}, of what was to be copied {sent}")
        self.destination.web.remove(target)


@contextmanager
def site(work: Path, rates: Rates, **more: Any) -> Iterator[Site]:
    """A cloud of its own, in namespaces; `more`: settings of the local cloud."""
    runtime = prepare_distcp()
    settings = {"port": 0, "instances": "netns", "peering": True, "bootSeconds": 2.0, "caps": rates.caps(), **more}
    config = LocalConfig.model_validate({**settings, "image": with_daemon(work / "image")})
    with ExitStack() as stack:
        cloud = stack.enter_context(LocalCloud(config, work / "state"))
        stack.enter_context(buffers.scaled(cloud.state.network_prefix))
        account = Account(cloud, work, (WORKER, WORKER))
        source, destination = (stack.enter_context(_side(cloud, runtime, region)) for region in (HOME, OTHER))
        runner = cloud.launch_vm(OTHER, "distcp", RUNNER)
        _let_out(cloud, runner)
        for side in (source, destination):
            _admit(cloud, side, runner)
        _segments(cloud, runner, source.hadoop)
        yield Site(account, source, destination, runtime, runner)


@contextmanager
def _side(cloud: LocalCloud, runtime: Runtime, region: str) -> Iterator[Side]:
    names = ("name node", *(f"worker {number}" for number in range(WORKERS)))
    machines = [cloud.launch_vm(region, name, WORKER, wait=False) for name in names]
    for machine in machines:
        cloud.wait_online(region, machine)
    combine = {"dfs.checksum.combine.mode": "COMPOSITE_CRC"}
    options = Options(replication=REPLICATION, block_bytes=BLOCK_MIB * MIB, quick=False, heap_mb=192, hdfs=combine)
    with on_instances(runtime, cloud, region, machines[0], machines[1:], options) as hadoop:
        web = Web(hadoop, getpass.getuser())
        for path in ("/in", "/out"):
            web.make_directory(path, USER)
        web.create("/in/empty", None, USER)
        say(f"a Hadoop in {region}")
        yield Side(region, machines[0], machines[1:], hadoop, web)


def _admit(cloud: LocalCloud, side: Side, runner: str) -> None:
    """The cluster's security group lets the machine of DistCp in, by its private address."""
    ec2 = cloud.client("ec2", side.region)
    groups = ec2.describe_security_groups()["SecurityGroups"]
    [found] = [one["GroupId"] for one in groups if one["GroupName"].startswith("hadoop-")]
    address = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": f"{_private(cloud, runner)}/32"}]}
    ec2.authorize_security_group_ingress(GroupId=found, IpPermissions=[address])


def _let_out(cloud: LocalCloud, runner: str) -> None:
    """The machine of DistCp may speak to whom it likes: a new group's rules say that, those of ends do not."""
    ec2 = cloud.client("ec2", OTHER)
    interfaces = ec2.describe_network_interfaces()["NetworkInterfaces"]
    [own] = [one for one in interfaces if one.get("Attachment", {}).get("InstanceId") == runner]
    group = ec2.create_security_group(GroupName="distcp", Description="DistCp's maps", VpcId=own["VpcId"])["GroupId"]
    carried = [*(one["GroupId"] for one in own["Groups"]), group]
    ec2.modify_network_interface_attribute(NetworkInterfaceId=own["NetworkInterfaceId"], Groups=carried)


def _private(cloud: LocalCloud, runner: str) -> str:
    found = cloud.client("ec2", OTHER).describe_instances(InstanceIds=[runner])["Reservations"]
    return str(found[0]["Instances"][0]["PrivateIpAddress"])


def _segments(cloud: LocalCloud, runner: str, hadoop: HadoopCluster) -> None:
    """Packets of the size that ours have: the machine of DistCp announces the segments of an internet gateway."""
    namespace = namespace_of(cloud, runner)
    for daemon in hadoop.daemons:
        address, own = daemon.machine.address, _private(cloud, runner)
        route = ("route", "replace", f"{address}/32", "dev", "eth0", "src", own, "advmss", str(INTERNET_SEGMENT))
        subprocess.run(("ip", "-n", namespace, *route), check=True, capture_output=True)


def _hosts(own: str, daemons: Sequence[Daemon]) -> str:
    """A file of hosts with this machine and those of the clusters."""
    lines = [f"{own} {socket.gethostname()}"]
    lines += [f"{daemon.machine.address} ip-{daemon.machine.address.replace('.', '-')}" for daemon in daemons]
    return "".join(f"{line}\n" for line in (*lines, "127.0.0.1 localhost"))


def random_file(path: Path, size_bytes: int) -> Path:
    """A file of random bytes, which no tool can pack."""
    with path.open("wb") as file, Path("/dev/urandom").open("rb") as source:
        for start in range(0, size_bytes, MIB):
            file.write(source.read(min(MIB, size_bytes - start)))
    return path


Measure = Callable[[], Copy]
