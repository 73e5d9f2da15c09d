"""Plain TCP forwarders in the place of our relay."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.peers.programs import require
from bench.data_plane.process import Program, listening, running

PORT = 4601
# One thread, or HAProxy's own choice (one per core); pipes of 64 KiB, or the most that an ordinary user may have.
LARGE_PIPES = "tune.pipesize 1048576"
SPLICE = {
    "splice-auto": "option splice-auto",
    "splice always": "option splice-request\n  option splice-response",
}
HAPROXY_SETTINGS = {
    f"HAProxy, {threads or 'default threads'}, {pipes or 'default pipes'}, {splice}": (threads, pipes, SPLICE[splice])
    for threads, pipes in (("nbthread 1", ""), ("nbthread 1", LARGE_PIPES), ("", ""), ("", LARGE_PIPES))
    for splice in SPLICE
}
HAPROXY = """\
global
  {threads}
  {pipes}
  maxpipes 256
defaults
  mode tcp
  {splice}
  timeout connect 5s
  timeout client 300s
  timeout server 300s
listen bench
  bind {listen}
  server receiver {target}
"""


@contextmanager
def haproxy(bench: Bench, node: Node, target: str, setting: str) -> Iterator[Program]:
    """HAProxy in TCP mode with splice."""
    program = require("haproxy")
    config = bench.work / "haproxy.cfg"
    threads, pipes, splice = HAPROXY_SETTINGS[setting]
    listen = f"{node.address}:{PORT}"
    config.write_text(HAPROXY.format(threads=threads, pipes=pipes, splice=splice, listen=listen, target=target))
    with running([program, "-db", "-f", str(config)], bench.work / "haproxy.log", node) as forwarder:
        listening(node, PORT, forwarder)
        yield forwarder


@contextmanager
def socat(bench: Bench, node: Node, target: str) -> Iterator[Program]:
    """Socat with a large buffer, a process per connection."""
    program = require("socat")
    listen = f"TCP-LISTEN:{PORT},bind={node.address},fork,reuseaddr,backlog=128"
    with running([program, "-b", str(1 << 20), listen, f"TCP:{target}"], bench.work / "socat.log", node) as forwarder:
        listening(node, PORT, forwarder)
        yield forwarder


def without_children(program: Program) -> bool:
    """Whether the processes of all connections have ended and been waited for: only then their time counts."""
    return not Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().strip()
