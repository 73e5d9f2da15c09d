"""A Hadoop on instances of a local cloud, as an EMR is on those of an account."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from local.cloud import LocalCloud
from local.hadoop.cluster import HadoopCluster
from local.hadoop.group import joined
from local.hadoop.machine import Machine
from local.hadoop.ports import free_port
from local.hadoop.runtime import Runtime
from local.hadoop.security import Guard, Security, secured
from local.hadoop.settings import DATA_NODE_PORTS, NAME_NODE_PORTS, Options
from local.state import namespaces

# On loopback whoever calls has 127.0.0.1, which the name node takes for a data node's own address: there it tells the
# nodes apart by their ports, and clients and data nodes have to go by what each node says is its name.
APART = 100
KDC_PORT = 88
BY_NAME = {"dfs.client.use.datanode.hostname": "true", "dfs.datanode.use.datanode.hostname": "true"}


@contextmanager
def on_instances(
    runtime: Runtime,
    cloud: LocalCloud,
    region: str,
    name_node: str,
    workers: Sequence[str],
    options: Options | None = None,
    guard: Guard | None = None,
) -> Iterator[HadoopCluster]:
    """A running cluster: the name node on one instance of a region, a data node on each of the workers.

    With `guard` it has Kerberos, whose KDC is on the instance of the name node.
    All of them have its configuration in etc/hadoop/conf of their homes, and a program `hdfs`. What it keeps is below
    `mnt` of their homes, and its logs are beside those of their units. Raises HadoopError, TimeoutError or ClientError.
    """
    ec2, options = cloud.client("ec2", region), options or Options()
    step = 0
    if cloud.config.instances == "process":
        step, options = APART, replace(options, hdfs={**BY_NAME, **options.hdfs})
    with joined(ec2, f"hadoop-{name_node}", [name_node, *workers]):
        addresses = _addresses(ec2, [name_node, *workers])
        machines = [_machine(cloud, name_node, "name", addresses[name_node], NAME_NODE_PORTS)]
        for number, worker in enumerate(workers):
            ports = tuple(port + step * number for port in DATA_NODE_PORTS)
            machines.append(_machine(cloud, worker, f"data-{number}", addresses[worker], ports))
        with (
            _guarded(runtime, machines[0], guard) as security,
            HadoopCluster(runtime, machines[0], machines[1:], replace(options, security=security)) as cluster,
        ):
            for machine in machines:
                cluster.write_script(Path(machine.environment["CPT_INSTANCE_DIR"], "bin/hdfs"), machine)
            yield cluster


@contextmanager
def _guarded(runtime: Runtime, name_node: Machine, guard: Guard | None) -> Iterator[Security | None]:
    if guard is None:
        yield None
        return
    port = KDC_PORT if name_node.namespace else free_port()
    with secured(runtime.java, name_node.folder, name_node.address, port, guard, name_node.prefix) as security:
        name_node.call(security.kdc.wait_listening)
        yield security


def _machine(cloud: LocalCloud, instance_id: str, name: str, address: str, ports: tuple[int, ...]) -> Machine:
    home = cloud.state.instances / instance_id
    environment = environment_of(home)
    namespace = namespace_of(cloud, instance_id) if cloud.config.instances == "netns" else ""
    return Machine(
        name=name,
        address=address,
        ports=ports,
        folder=home / "mnt",
        conf=Path(environment["HADOOP_CONF_DIR"]),
        log=cloud.state.logs / "instances" / instance_id / f"hadoop-{name}.log",
        environment=environment,
        prefix=("nsenter", f"--net=/run/netns/{namespace}", "--") if namespace else (),
        namespace=namespace,
    )


def environment_of(home: Path) -> dict[str, str]:
    """What each process of the instance with this home sees; by it the local cloud finds what it has to end."""
    lines = (home / "env").read_text(encoding="utf-8").splitlines()
    return dict(shlex.split(line)[1].split("=", 1) for line in lines)


def namespace_of(cloud: LocalCloud, instance_id: str) -> str:
    """The network namespace of a running instance."""
    return next(name for name in namespaces(cloud.state.network_prefix) if name.endswith(instance_id[-5:]))


def _addresses(ec2: Any, instance_ids: Sequence[str]) -> dict[str, str]:
    """Private addresses by instance."""
    found = ec2.describe_instances(InstanceIds=list(instance_ids))["Reservations"]
    return {one["InstanceId"]: one["PrivateIpAddress"] for group in found for one in group["Instances"]}
