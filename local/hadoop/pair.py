"""Two name nodes of a cluster: one serves, the other follows it by the log of changes that both see. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from local.hadoop.machine import Machine
from local.hadoop.settings import Options

SERVICE = "pair"
"""What clients call both: `hdfs://pair`."""
_PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"


def paired(options: Options, name_nodes: Sequence[Machine], shared: Path) -> Options:
    """The options of a cluster with these name nodes, which share the directory `shared` for the log.

    A person says which one serves.
    """
    addresses = {
        f"dfs.namenode.{kind}-address.{SERVICE}.{machine.name}": f"{machine.address}:{port}"
        for machine in name_nodes
        for kind, port in zip(("rpc", "http"), machine.ports, strict=True)
    }
    hdfs = {
        "dfs.nameservices": SERVICE,
        f"dfs.ha.namenodes.{SERVICE}": ",".join(machine.name for machine in name_nodes),
        **addresses,
        f"dfs.client.failover.proxy.provider.{SERVICE}": _PROVIDER,
        "dfs.namenode.shared.edits.dir": shared.as_uri(),
        "dfs.ha.fencing.methods": "shell(/bin/true)",
        "dfs.ha.tail-edits.period": "1s",
        **options.hdfs,
    }
    return replace(options, core={"fs.defaultFS": f"hdfs://{SERVICE}", **options.core}, hdfs=hdfs)


def own_id(machine: Machine) -> str:
    """The word by which a name node knows which of both it is: on loopback both have the same address."""
    return f"-Ddfs.ha.namenode.id={machine.name}"
