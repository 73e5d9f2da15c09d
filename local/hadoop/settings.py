"""Contents of core-site.xml and hdfs-site.xml. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from local.hadoop.machine import Machine
from local.hadoop.security import Security

NAME_NODE_PORTS = (8020, 9870)
DATA_NODE_PORTS = (9866, 9867, 9864)
SMALLEST_BLOCK_BYTES = 512


@dataclass(frozen=True)
class Options:
    """What a cluster is asked for. `core`, `hdfs`: further properties of the two files, or other values of them.

    `quick`: the JVMs compile little, so that they start with a fifth of the work; what compares rates says False.
    `security`: absent where the cluster believes whoever comes.
    """

    replication: int = 2
    block_bytes: int = 1 << 20
    heap_mb: int = 128
    quick: bool = True
    core: Mapping[str, str] = field(default_factory=dict)
    hdfs: Mapping[str, str] = field(default_factory=dict)
    security: Security | None = None


def core_site(name_node: Machine, machine: Machine | None, options: Options) -> str:
    """core-site.xml of a machine with a daemon; without one, of a client."""
    return _document(
        {
            "fs.defaultFS": f"hdfs://{name_node.address}:{name_node.ports[0]}",
            # Data nodes start before the name node does. As usual a client gives up after ten seconds.
            "ipc.client.connect.retry.interval": "100",
            "ipc.client.connect.max.retries": "100",
            "hadoop.tmp.dir": str((machine or name_node).temporary),
            **(options.security.core() if options.security else {}),
            **options.core,
        }
    )


def hdfs_site(name_node: Machine, machine: Machine | None, options: Options) -> str:
    """hdfs-site.xml of a machine with a daemon; without one, of a client."""
    rpc, http = (f"{name_node.address}:{port}" for port in name_node.ports)
    return _document(
        {
            "dfs.namenode.rpc-address": rpc,
            "dfs.namenode.http-address": http,
            "dfs.replication": str(options.replication),
            "dfs.blocksize": str(options.block_bytes),
            **(_of_name_node(machine) if machine == name_node else _of_data_node(machine) if machine else {}),
            **(options.security.hdfs(name_node, machine) if options.security else {}),
            **options.hdfs,
        }
    )


def ssl_server(security: Security) -> str:
    """ssl-server.xml of a machine with a daemon that serves by HTTPS."""
    return _document(security.of_https())


def _of_name_node(machine: Machine) -> dict[str, str]:
    return {
        "dfs.namenode.name.dir": str(machine.folder / "name"),
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.fs-limits.min-block-size": str(SMALLEST_BLOCK_BYTES),
        "dfs.namenode.safemode.extension": "0",
        "dfs.permissions.enabled": "true",
        "dfs.namenode.acls.enabled": "true",
        "dfs.namenode.xattrs.enabled": "true",
        # A node that says nothing for 2 × 1 s + 10 × 1 s is dead.
        "dfs.namenode.heartbeat.recheck-interval": "1000",
        "dfs.heartbeat.interval": "1",
        "dfs.namenode.redundancy.interval.seconds": "1s",
        # What is written survives the end of the process; here no machine loses its power.
        "dfs.namenode.edits.noeditlogchannelflush": "true",
    }


def _of_data_node(machine: Machine) -> dict[str, str]:
    data, ipc, http = (f"{machine.address}:{port}" for port in machine.ports)
    return {
        "dfs.datanode.data.dir": str(machine.folder / "data"),
        "dfs.datanode.address": data,
        "dfs.datanode.ipc.address": ipc,
        "dfs.datanode.http.address": http,
        "dfs.datanode.hostname": machine.address,
        "dfs.heartbeat.interval": "1",
        "dfs.datanode.scan.period.hours": "-1",
    }


def _document(properties: Mapping[str, str]) -> str:
    lines = [
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    ]
    return f'<?xml version="1.0"?>\n<configuration>\n{"".join(lines)}</configuration>\n'
