"""A Hadoop without any cloud: all of it on 127.0.0.1."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.hadoop import ports
from local.hadoop.cluster import HadoopCluster
from local.hadoop.machine import Machine
from local.hadoop.runtime import Runtime
from local.hadoop.settings import DATA_NODE_PORTS, NAME_NODE_PORTS, Options


@contextmanager
def on_loopback(
    runtime: Runtime,
    folder: Path,
    data_nodes: int = 2,
    options: Options | None = None,
    *,
    ends_with_thread: bool = False,
) -> Iterator[HadoopCluster]:
    """A running cluster with free ports, which keeps all its files in `folder`; `folder`/conf is for clients.

    `ends_with_thread`: a daemon is killed when the thread that started it ends, however that comes about, where there
    is a `setpriv`. Raises HadoopError or TimeoutError.
    """
    bound = ("setpriv", "--pdeathsig", "KILL", "--") if ends_with_thread and shutil.which("setpriv") else ()
    counts = [len(NAME_NODE_PORTS), *[len(DATA_NODE_PORTS)] * data_nodes]
    with ports.kept(sum(counts)) as free:
        # A user of Hadoop may have settings of his own in his environment.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("HADOOP_", "JAVA_"))}
        names = ["name", *(f"data-{number}" for number in range(data_nodes))]
        machines = [
            Machine(
                name=name,
                address=ports.LOOPBACK,
                ports=tuple(free.pop() for _ in range(count)),
                folder=folder / name,
                conf=folder / name / "conf",
                log=folder / f"{name}.log",
                environment=environment,
                prefix=bound,
            )
            for name, count in zip(names, counts, strict=True)
        ]
        with HadoopCluster(runtime, machines[0], machines[1:], options, folder / "conf") as cluster:
            yield cluster
