"""A name node and data nodes that are up together."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from local.hadoop import jmx
from local.hadoop.daemon import Daemon
from local.hadoop.errors import HadoopError
from local.hadoop.machine import Machine
from local.hadoop.pair import own_id, paired
from local.hadoop.runtime import DATA_NODE, HA_ADMIN, NAME_NODE, TOOLS, Runtime
from local.hadoop.settings import Options, core_site, hdfs_site, ssl_server
from local.waiting import wait_for

START_SECONDS = 30
COMMAND_SECONDS = 300


class HadoopCluster:
    """One HDFS; `with` starts it, and kills it at the end. Its first user is the superuser.

    `conf`: the configuration directory of a client, that of the name node's machine unless one is given. `standby`: of
    a second name node, which serves once it is told to.
    """

    def __init__(
        self,
        runtime: Runtime,
        name_node: Machine,
        data_nodes: Sequence[Machine],
        options: Options | None = None,
        conf: Path | None = None,
        standby: Machine | None = None,
    ) -> None:
        self.options = options or Options()
        if standby:
            self.options = paired(self.options, [name_node, standby], name_node.folder / "shared")
        self.conf = conf or name_node.conf
        self._security = self.options.security
        self._runtime = self._in_realm(runtime)
        self.name_node = self._daemon(NAME_NODE, name_node)
        self.standby = self._daemon(NAME_NODE, standby) if standby else None
        self._serving = self.name_node
        self.data_nodes = [self._daemon(DATA_NODE, machine) for machine in data_nodes]

    @property
    def daemons(self) -> list[Daemon]:
        """The name nodes, then the data nodes."""
        return [self.name_node, *([self.standby] if self.standby else []), *self.data_nodes]

    def daemon(self, name: str) -> Daemon:
        """That of a machine's name. Raises HadoopError."""
        found = [daemon for daemon in self.daemons if daemon.machine.name == name]
        if not found:
            raise HadoopError(f"no {name}: there are {', '.join(daemon.machine.name for daemon in self.daemons)}")
        return found[0]

    @property
    def address(self) -> str:
        """`ADDRESS:PORT` of the name node's RPC."""
        return f"{self.name_node.machine.address}:{self.name_node.machine.ports[0]}"

    @property
    def web_address(self) -> str:
        """`ADDRESS:PORT` of the name node's WebHDFS and JMX."""
        return f"{self.name_node.machine.address}:{self.name_node.machine.ports[1]}"

    def start(self) -> None:
        """Write the configurations, format, start all daemons; returns when all data nodes are live.

        Raises HadoopError or TimeoutError; what was started is killed then.
        """
        try:
            self._configure()
            for daemon in self.data_nodes:  # they ask for the name node until it answers
                daemon.start()
            self._format()
            self.name_node.start()
            if self.standby:
                self.activate(self.name_node.machine.name)
                self._administer(self.standby.machine, "-bootstrapStandby", "-force", "-nonInteractive")
                self.standby.start()
            self.wait_live(len(self.data_nodes))
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End all daemons at once."""
        for daemon in reversed(self.daemons):
            daemon.kill()

    def restore(self) -> None:
        """Have all daemons run again that were ended or halted; returns when all data nodes are live.

        Raises HadoopError or TimeoutError.
        """
        for daemon in self.daemons:
            if daemon.runs:
                daemon.send(signal.SIGCONT)
            else:
                daemon.start()
        if self.standby and not any(self._is_active(daemon) for daemon in (self.name_node, self.standby)):
            self.activate(self._serving.machine.name)
        self.wait_live(len(self.data_nodes))

    def activate(self, name: str) -> None:
        """Have that name node of two serve; the other one must not. Raises HadoopError or TimeoutError."""
        self._serving = self.daemon(name)
        wait_for(lambda: self.bean(self._serving, "NameNode", "NameNodeStatus") is not None, START_SECONDS)
        self.run(HA_ADMIN, "-transitionToActive", "--forceactive", name)

    def __enter__(self) -> HadoopCluster:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def wait_live(self, count: int) -> None:
        """Wait until the name node serves, knows so many live data nodes, and has registered all that run here.

        A data node that was killed counts as live for 12 s. Raises TimeoutError, and HadoopError if a daemon has ended.
        """

        def is_so() -> bool:
            for daemon in self.daemons:
                daemon.check()
            said = self.bean(self._serving, "NameNode", "NameNodeInfo")
            if said is None or said.get("Safemode") != "":
                return False
            nodes = json.loads(said.get("LiveNodes", "{}")).values()
            # One whose space is not known yet is given no blocks.
            known = len(nodes) == count and all(node["capacity"] > 0 for node in nodes)
            return known and all(self._serves(daemon) for daemon in self.data_nodes if daemon.runs)

        wait_for(is_so, START_SECONDS)

    def bean(self, daemon: Daemon, service: str, name: str) -> dict[str, Any] | None:
        """What a daemon says of itself; None while it does not answer."""
        return jmx.named(daemon.machine, service, name, by_https=self._security is not None)

    def shell(self, *words: str, user: str | None = None) -> str:
        """Output of `hdfs dfs WORDS`, as the superuser or another. Raises HadoopError."""
        return self.hdfs("dfs", *words, user=user)

    def hdfs(self, tool: str, *words: str, user: str | None = None) -> str:
        """Output of `hdfs TOOL WORDS`, a tool of `runtime.TOOLS`. Raises HadoopError."""
        return self.run(TOOLS[tool], *words, user=user)

    def run(self, program: str, *words: str, user: str | None = None, runtime: Runtime | None = None) -> str:
        """Standard output of a class of Hadoop on the name node's machine; `runtime`: one that has more jars.

        Raises HadoopError with its standard error unless it ends with 0.
        """
        machine = self.name_node.machine
        done = subprocess.run(
            [
                *machine.prefix,
                *self._in_realm(runtime or self._runtime).command(program, self.conf, machine.temporary),
                *words,
            ],
            env={**machine.environment, **self._as_user(user)},
            cwd=machine.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            name = " ".join([program.rpartition(".")[2], *words])
            raise HadoopError(f"{name}: code {done.returncode}: {said[-2000:]}")
        return done.stdout.decode(errors="surrogateescape")

    def write_script(self, path: Path, machine: Machine | None = None) -> None:
        """Write a program `hdfs` for who is on a machine of the cluster; without one, as its client."""
        conf = machine.conf if machine else self.conf
        temporary = (machine or self.name_node.machine).temporary
        path.write_text(self._runtime.script(conf, temporary), encoding="utf-8")
        path.chmod(0o755)

    def _as_user(self, user: str | None) -> dict[str, str]:
        if self._security:
            return self._security.as_user(user)
        return {"HADOOP_USER_NAME": user} if user else {}

    def _in_realm(self, runtime: Runtime) -> Runtime:
        more = self._security.java_options if self._security else ()
        return runtime if runtime.options[-len(more) :] == more else replace(runtime, options=(*runtime.options, *more))

    def _daemon(self, program: str, machine: Machine) -> Daemon:
        options = self.options
        command = self._runtime.command(
            program, machine.conf, machine.temporary, heap_mb=options.heap_mb, quick=options.quick, level="INFO"
        )
        identity = [own_id(machine)] if program == NAME_NODE and "dfs.nameservices" in options.hdfs else []
        return Daemon(machine, [*command, *identity])

    def _configure(self) -> None:
        name_node = self.name_node.machine
        machines = [daemon.machine for daemon in self.daemons]
        for machine in machines:
            machine.temporary.mkdir(parents=True, exist_ok=True)
            is_standby = self.standby is not None and machine == self.standby.machine
            self._write(machine.conf, machine if is_standby else name_node, machine)
        if all(self.conf != machine.conf for machine in machines):
            self._write(self.conf, name_node, None)

    def _write(self, conf: Path, name_node: Machine, machine: Machine | None) -> None:
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "core-site.xml").write_text(core_site(name_node, machine, self.options), encoding="utf-8")
        (conf / "hdfs-site.xml").write_text(hdfs_site(name_node, machine, self.options), encoding="utf-8")
        if self._security:
            (conf / "ssl-server.xml").write_text(ssl_server(self._security), encoding="utf-8")

    def _format(self) -> None:
        self._administer(self.name_node.machine, "-format", "-force", "-nonInteractive")

    def _administer(self, machine: Machine, *words: str) -> None:
        """Run a name node for something else than to serve."""
        command = self._runtime.command(NAME_NODE, machine.conf, machine.temporary)
        identity = [own_id(machine)] if self.standby else []
        done = subprocess.run(
            [*machine.prefix, *command, *identity, *words],
            env=dict(machine.environment),
            cwd=machine.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise HadoopError(f"{machine.name} {words[0]}: {done.stderr.strip()[-2000:]}")

    def _is_active(self, name_node: Daemon) -> bool:
        """Whether a name node of two serves."""
        said = self.bean(name_node, "NameNode", "NameNodeStatus")
        return said is not None and said.get("State") == "active"

    def _serves(self, data_node: Daemon) -> bool:
        """Whether a data node has registered with the name node."""
        said = self.bean(data_node, "DataNode", "DataNodeInfo")
        actors = json.loads(said.get("BPServiceActorInfo", "[]")) if said else []
        return bool(actors) and all(actor["ActorState"] == "RUNNING" for actor in actors)
