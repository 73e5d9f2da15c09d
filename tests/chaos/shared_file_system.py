"""A real shared file system: MooseFS, with a client of its own in each machine's network.

The servers run in a network namespace. Each client asks them from a namespace of its own, so that it can be cut off,
and is mounted where all of the machine sees it. MooseFS refuses the loopback device's addresses: hence namespaces.
"""

import os
import shutil
import subprocess
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

MASTER = "/usr/sbin/mfsmaster"
CHUNKS = "/usr/sbin/mfschunkserver"
MOUNT = "/usr/bin/mfsmount"
REMEDY = "apt-get install moosefs-master moosefs-chunkserver moosefs-client"
TO_SERVERS, TO_CHUNKS, TO_CLIENTS = 29419, 29420, 29421
CHUNK_PORT = 29422
"""Of the servers, beside those that a machine with MooseFS uses."""
SERVER = "10.99.0.1"
START_SECONDS = 30


@dataclass(frozen=True)
class SharedFileSystem:
    """Mount points of one volume, each a client in a namespace of its own.

    Programs of a machine of the local cloud run in another namespace: they reach the mount by its path.
    """

    namespaces: tuple[str, ...]
    mounts: tuple[Path, ...]


def missing() -> str | None:
    """What this machine lacks for it; none where all is there."""
    if os.geteuid() != 0:
        return "a shared file system needs root"
    if not os.access("/dev/fuse", os.W_OK):
        return "this machine mounts nothing by FUSE"
    programs = [name for name in (MASTER, CHUNKS, MOUNT) if shutil.which(name) is None]
    tools = [name for name in ("ip", "nsenter") if shutil.which(name) is None]
    return f"{', '.join(programs + tools)}: not found ({REMEDY})" if programs or tools else None


@contextmanager
def shared_file_system(folder: Path, clients: int) -> Generator[SharedFileSystem]:
    """Serve one volume from `folder` to so many clients, and take all of it down again."""
    why = missing()
    if why is not None:
        pytest.skip(why)
    prefix = f"mfs{os.getpid()}"
    names = tuple(f"{prefix}-c{number}" for number in range(clients))
    with ExitStack() as stack:
        servers = _namespace(stack, f"{prefix}-s")
        _run("ip", "-n", servers, "link", "add", "br0", "type", "bridge")
        _run("ip", "-n", servers, "addr", "add", f"{SERVER}/16", "dev", "br0")
        _run("ip", "-n", servers, "link", "set", "br0", "up")
        for number, name in enumerate(names):
            _join(_namespace(stack, name), servers, number)
        _serve(stack, folder, servers)
        mounts = tuple(_mount(stack, folder / f"client-{number}", name) for number, name in enumerate(names))
        yield SharedFileSystem(names, mounts)


def _namespace(stack: ExitStack, name: str) -> str:
    _run("ip", "netns", "add", name)
    stack.callback(_run, "ip", "netns", "del", name)
    _run("ip", "-n", name, "link", "set", "lo", "up")
    return name


def _join(client: str, servers: str, number: int) -> None:
    port = f"v{number}"
    _run("ip", "-n", servers, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", client)
    _run("ip", "-n", servers, "link", "set", port, "master", "br0", "up")
    _run("ip", "-n", client, "addr", "add", f"10.99.1.{number + 1}/16", "dev", "eth0")
    _run("ip", "-n", client, "link", "set", "eth0", "up")


def _serve(stack: ExitStack, folder: Path, servers: str) -> None:
    master, chunks, disk = folder / "master", folder / "chunks", folder / "chunks" / "disk"
    for path in (master, disk):
        path.mkdir(parents=True)
    (master / "metadata.mfs").write_bytes(b"MFSM NEW")
    (folder / "exports.cfg").write_text("* / rw,alldirs,maproot=0:0\n")
    (folder / "topology.cfg").touch()
    (folder / "disks.cfg").write_text(f"{disk}\n")
    everywhere = {"WORKING_USER": "root", "WORKING_GROUP": "root", "NICE_LEVEL": 0}
    of_master = {
        **everywhere,
        "DATA_PATH": master,
        "EXPORTS_FILENAME": folder / "exports.cfg",
        "TOPOLOGY_FILENAME": folder / "topology.cfg",
        **{f"{of}_LISTEN_HOST": SERVER for of in ("MATOML", "MATOCS", "MATOCL")},
        "MATOML_LISTEN_PORT": TO_SERVERS,
        "MATOCS_LISTEN_PORT": TO_CHUNKS,
        "MATOCL_LISTEN_PORT": TO_CLIENTS,
    }
    of_chunks = {
        **everywhere,
        "DATA_PATH": chunks,
        "HDD_CONF_FILENAME": folder / "disks.cfg",
        "HDD_LEAVE_SPACE_DEFAULT": "64MiB",
        "MASTER_HOST": SERVER,
        "MASTER_PORT": TO_CHUNKS,
        "BIND_HOST": SERVER,
        "CSSERV_LISTEN_HOST": SERVER,
        "CSSERV_LISTEN_PORT": CHUNK_PORT,
        "MASTER_RECONNECTION_DELAY": 1,
    }
    for program, settings in ((MASTER, of_master), (CHUNKS, of_chunks)):
        file = folder / f"{Path(program).name}.cfg"
        file.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
        # It has read its data and listens when this returns.
        _inside(servers, program, "-c", str(file), "start")
        stack.callback(_inside, servers, program, "-c", str(file), "stop")


def _mount(stack: ExitStack, at: Path, namespace: str) -> Path:
    at.mkdir()
    _inside(namespace, MOUNT, str(at), "-H", SERVER, "-P", str(TO_CLIENTS))
    stack.callback(_run, "umount", "--lazy", str(at))
    return at


def _inside(namespace: str, *argv: str) -> None:
    # `ip netns exec` would mount where nobody else sees it.
    _run("nsenter", f"--net=/run/netns/{namespace}", "--", *argv)


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=START_SECONDS)
    if done.returncode != 0:
        raise RuntimeError(f"{_line(argv)}: {done.stdout}{done.stderr}")


def _line(argv: Sequence[str]) -> str:
    return " ".join(argv)
