"""A Hadoop on 127.0.0.1 for tests of other languages and for a person: `python -m local.hadoop`.

It prints one line of JSON when it is ready, and ends with its standard input or by SIGTERM. Lines of its standard
input end and start daemons, `name`, `standby` or `data-0`, `data-1`, …; each is answered by a line of JSON:

    kill NAME       at once; `stop NAME`: by itself
    start NAME
    activate NAME   of two name nodes this one serves from now on
    halt NAME       it keeps its connections and answers nothing; `resume NAME`
    drop NAME       packets to it and from it are lost, other ones of its machine are not; needs root and nft
    whole           all daemons run, whatever was done to them, and the data nodes are live
    live COUNT      wait until the name node serves, and so many data nodes are live

With `--guard` it has Kerberos, and the line also says where keys of users are: `keys` by name, and `krb5`, what MIT's
programs and Java need to find the KDC.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from local.hadoop import ports
from local.hadoop.black_hole import BlackHole
from local.hadoop.cluster import HadoopCluster
from local.hadoop.errors import HadoopError, HadoopMissingError
from local.hadoop.jars import DigestError
from local.hadoop.loopback import on_loopback
from local.hadoop.runtime import Runtime
from local.hadoop.security import DAEMONS, Guard, Security, secured
from local.hadoop.settings import Options
from local.hadoop.shared_classes import prepare

USERS = ("etl", "other")
"""Users of HDFS who have keys where the cluster has Kerberos, beside the superuser."""
MISSING = 3
"""Exit code where Hadoop cannot be had on this machine."""


def main(words: list[str]) -> int:
    """Run a cluster; returns the exit code."""
    options = Options()
    parser = argparse.ArgumentParser(
        prog="python -m local.hadoop", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-nodes", type=int, default=2)
    parser.add_argument("--replication", type=int, default=options.replication)
    parser.add_argument("--block-size", type=int, default=options.block_bytes, help="bytes, a multiple of 512")
    parser.add_argument("--folder", type=Path, help="where all files lie; absent: a folder that goes with the cluster")
    parser.add_argument(
        "--guard", help="with Kerberos; `hadoop.rpc.protection`, a colon, `dfs.data.transfer.protection`"
    )
    parser.add_argument(
        "--encrypt", choices=["3des", "aes"], default="", help="with Kerberos, and `dfs.encrypt.data.transfer`"
    )
    parser.add_argument("--standby", action="store_true", help="with a second name node")
    parser.add_argument("--core", action="append", default=[], metavar="NAME=VALUE", help="a property of core-site.xml")
    parser.add_argument("--hdfs", action="append", default=[], metavar="NAME=VALUE", help="a property of hdfs-site.xml")
    parser.add_argument("--fetch", action="store_true", help="only fetch and make what a cluster needs")
    asked = parser.parse_args(words)
    core, hdfs = (dict(one.split("=", 1) for one in some) for some in (asked.core, asked.hdfs))
    options = Options(replication=asked.replication, block_bytes=asked.block_size, core=core, hdfs=hdfs)
    signal.signal(signal.SIGTERM, _end)
    try:
        runtime = prepare()
        if asked.fetch:
            return 0
        with tempfile.TemporaryDirectory(prefix="hadoop-") as own:
            folder = (asked.folder or Path(own)).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            with _guarded(runtime, folder, asked.guard, asked.encrypt) as security:
                options = replace(options, security=security)
                with on_loopback(
                    runtime, folder, asked.data_nodes, options, ends_with_thread=True, has_standby=asked.standby
                ) as cluster:
                    _serve(cluster, folder / "hdfs")
    except HadoopMissingError as missing:
        sys.stderr.write(f"{missing}\n")
        return MISSING
    except (HadoopError, DigestError, TimeoutError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


@contextmanager
def _guarded(runtime: Runtime, folder: Path, guard: str | None, encrypt: str) -> Iterator[Security | None]:
    """A KDC, where a cluster is to have one. Raises HadoopMissingError, HadoopError or TimeoutError."""
    if guard is None:
        yield None
        return
    rpc, _, data = guard.partition(":")
    bound = ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()
    with (
        ports.kept(1) as free,
        secured(runtime.java, folder, ports.LOOPBACK, free[0], Guard(rpc, data, encrypt), bound) as security,
    ):
        security.kdc.wait_listening()
        yield security


def _serve(cluster: HadoopCluster, script: Path) -> None:
    """Say what a client needs, then do what the lines of standard input ask for."""
    cluster.write_script(script)
    _say(
        conf=str(cluster.conf),
        nameNode=cluster.address,
        webHdfs=cluster.web_address,
        hdfs=str(script),
        pids=_pids(cluster),
        **_keys(cluster.options.security),
    )
    hole = BlackHole()
    try:
        for line in sys.stdin:
            try:
                _obey(cluster, hole, line.split())
            except (HadoopError, TimeoutError, ValueError) as error:
                _say(error=f"{line.strip()}: {error}")
            else:
                _say(pids=_pids(cluster))
    finally:
        hole.lift()


def _keys(security: Security | None) -> dict[str, object]:
    if security is None:
        return {}
    keys = {user: str(security.key_table(user)) for user in (*USERS, DAEMONS)}
    return {"keys": keys, "krb5": str(security.kdc.configuration)}


def _obey(cluster: HadoopCluster, hole: BlackHole, words: list[str]) -> None:
    """Do what a line asks for. Raises HadoopError, TimeoutError or ValueError."""
    match words:
        case ["live", count]:
            cluster.wait_live(int(count))
        case ["kill", name]:
            cluster.daemon(name).kill()
        case ["stop", name]:
            cluster.daemon(name).stop()
        case ["start", name]:
            cluster.daemon(name).start()
        case ["activate", name]:
            cluster.activate(name)
        case ["drop", name]:
            hole.add(cluster.daemon(name).machine.ports)
        case ["whole"]:
            hole.lift()
            cluster.restore()
        case ["halt", name]:
            cluster.daemon(name).send(signal.SIGSTOP)
        case ["resume", name]:
            cluster.daemon(name).send(signal.SIGCONT)
        case _:
            raise ValueError(
                "this is none of kill, stop, start, halt, resume, drop, activate NAME, whole, and live COUNT"
            )


def _pids(cluster: HadoopCluster) -> dict[str, int]:
    """Process ids of the daemons that run, by their names."""
    return {daemon.machine.name: daemon.pid for daemon in cluster.daemons if daemon.runs}


def _say(**words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _end(number: int, frame: object) -> None:
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
