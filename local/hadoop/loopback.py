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
    has_standby: bool = False,
) -> Iterator[HadoopCluster]:
    """A running cluster with free ports, which keeps all its files in `folder`; `folder`/conf is for clients.

    `ends_with_thread`: a daemon is killed when the thread that started it ends, however that comes about, where there
    is a `setpriv`. `has_standby`: with a second name node, `standby`. Raises HadoopError or TimeoutError.
    """
    bound = ("setpriv", "--pdeathsig", "KILL", "--") if ends_with_thread and shutil.which("setpriv") else ()
    names = ["name", *(["standby"] if has_standby else []), *(f"data-{number}" for number in range(data_nodes))]
    counts = [len(DATA_NODE_PORTS if name.startswith("data-") else NAME_NODE_PORTS) for name in names]
    with ports.kept(sum(counts)) as free:
        # A user of Hadoop may have settings of his own in his environment.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("HADOOP_", "JAVA_"))}
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
        standby = machines[1] if has_standby else None
        workers = machines[2:] if has_standby else machines[1:]
        with HadoopCluster(runtime, machines[0], workers, options, folder / "conf", standby) as cluster:
            yield cluster
