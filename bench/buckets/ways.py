"""`make bench-ways`: one machine and a bucket beyond a border, alone and with relays beside the machine.

Each is a network namespace. Of what crosses the border the machine and each relay may send `CAP`, and receive as much;
inside, between machine and relay, eight times that. The server keeps nothing and speaks TLS, so what relays pass on is
what they would pass on to S3.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.buckets import data
from bench.buckets.servers import BUCKET, KEYS, REGION, build, certificate
from bench.data_plane.bench import Bench, say
from bench.data_plane.network import Network, Node, command, network
from bench.data_plane.process import BenchError, Program, running, until
from bench.machine import workspace
from bench.options import names_among
from bench.results import Result, measured, publish, versions

DAEMON = Path("relay-ami/relay/target/release/cpt-laboratory")
PLACE = f"s3://{BUCKET}/{data.PREFIX}"
PORT, RELAY_PORT = 7481, 4600
CAP_MB_S, INSIDE = 50.0, 8
LANES = 16
# Parts of an object have 5 MiB at least.
CHUNK_MIB = {"up": 8, "down": 1}
TIMEOUT = 300.0
SECONDS = 30
"""For which the data lasts at the caps: the last parts on each way are a second or two of that."""
WAYS = ("up", "down")
# What each relay may exchange across the border, as a share of what the machine may: the last one is ten times slower.
RELAYS = ((), (1.0,), (1.0, 1.0, 1.0), (0.1,))
# Of the sum of what the machine and its relays may exchange.
BAR = 0.95
_ASK = "import json,ssl,sys,urllib.request as u; c=ssl.create_default_context(cafile=sys.argv[1]);"
_ASK += "print(u.urlopen(u.Request(sys.argv[2],data=sys.argv[3].encode()),context=c).read().decode())"


@dataclass(frozen=True)
class Site:
    """The machines, and the server beyond the border."""

    net: Network
    ca: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """As clients of S3 read it."""
        place = {"AWS_ENDPOINT_URL": self._endpoint, "AWS_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true"}
        return {**KEYS, **place, "SSL_CERT_FILE": str(self.ca)}

    @property
    def _endpoint(self) -> str:
        return f"https://{self.net['store'].address}:{PORT}"

    def ask(self, what: str, body: object = None) -> dict[str, object]:
        """A question to the server, from its own machine."""
        argv = [*self.net["store"].prefix, sys.executable, "-c", _ASK, str(self.ca)]
        done = subprocess.run(
            [*argv, f"{self._endpoint}/-/{what}", json.dumps(body)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BenchError(f"the server: {done.stderr.strip()[-200:]}")
        found: dict[str, object] = json.loads(done.stdout.strip() or "null") or {}
        return found


@contextmanager
def site(work: Path, relays: Sequence[float]) -> Iterator[Site]:
    """Machine, relays and a server that runs, with their caps."""
    names = [f"relay{number}" for number, _ in enumerate(relays, 1)]
    caps = dict(zip(("machine", *names), (1.0, *relays), strict=True))
    addresses = {"machine": "10.0.0.1", **{name: f"10.0.0.{10 + at}" for at, name in enumerate(names)}}
    addresses["store"] = "10.1.0.1"
    block = work / "block"
    block.write_bytes(data.block())
    with network(addresses) as net:
        for role, share in caps.items():
            shape(net[role], {net["store"].address: share})
        shape(net["store"], {net[role].address: share for role, share in caps.items()})
        cert, key, ca = certificate(work, net["store"].address)
        argv = [str(build()), f"{net['store'].address}:{PORT}", str(block), str(cert), str(key)]
        with running(argv, work / "store.log", net["store"]) as server:
            found = Site(net, ca)
            until(partial(_answers, found), "the store", [server])
            yield found


def _answers(found: Site) -> bool:
    try:
        found.ask("anew", {})
    except BenchError:
        return False
    return True


def shape(node: Node, beyond: Mapping[str, float]) -> None:
    """What goes to each of these addresses has a share of the border's cap, all else the inside's."""
    tc = ("tc", "-n", node.namespace)
    command(*tc, "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "default", "2")
    beyond_it = [(f"1:{10 + at}", CAP_MB_S * share) for at, share in enumerate(beyond.values())]
    for name, mb_s in [("1:2", CAP_MB_S * INSIDE), *beyond_it]:
        rate = ("rate", f"{int(mb_s * 1e6)}bps", "quantum", "60000")
        command(*tc, "class", "add", "dev", "eth0", "parent", "1:", "classid", name, "htb", *rate)
    for at, address in enumerate(beyond):
        to = ("protocol", "ip", "u32", "match", "ip", "dst", address, "flowid", f"1:{10 + at}")
        command(*tc, "filter", "add", "dev", "eth0", "parent", "1:", *to)


@dataclass(frozen=True)
class Move:
    """One transfer."""

    bench: Bench
    site: Site
    way: str
    relays: int

    def run(self, source: str, destination: str) -> float:
        """Seconds from the start of both ends to their end."""
        control, net = self.bench.folder("control"), self.site.net
        key, machine = str(control / "route.key"), net["machine"]
        # The listing of a bucket needs its network.
        plan = ["--chunk-mib", str(CHUNK_MIB[self.way]), "--lanes", str(LANES), source]
        with self._start(machine, "plan", control, *plan) as planning:
            planning.wait(TIMEOUT)
        relays = [net[f"relay{number}"] for number in range(1, self.relays + 1)]
        vias = [word for relay in relays for word in ("--via", f"{relay.address}:{RELAY_PORT}")]
        with ExitStack() as stack:
            for relay in relays:
                listen = ["--listen", f"{relay.address}:{RELAY_PORT}"]
                stack.enter_context(self._start(relay, "relay", control, *listen))
            began = time.monotonic()
            listen = ["--listen", f"{machine.address}:4601", "--route-key", key, destination]
            receiver = stack.enter_context(self._start(machine, "receive", control, *listen))
            words = ["--direct", *vias, "--to-store", "--route-key", key, "--lanes", str(LANES)]
            sender = stack.enter_context(self._start(machine, "send", control, *words))
            sender.wait(TIMEOUT)
            receiver.wait(TIMEOUT)
            return time.monotonic() - began

    @contextmanager
    def _start(self, node: Node, role: str, control: Path, *words: str) -> Iterator[Program]:
        argv = [str(self.bench.daemon), role, "--control-dir", str(control), "--transfer", "bench", *words]
        log = self.bench.work / f"{role}-{node.namespace}.log"
        with running(argv, log, node, env=self.site.environment) as program:
            yield program


def case(bench: Bench, way: str, relays: Sequence[float]) -> list[Result]:
    """Some relays, one way: seconds, and the share of what all together may exchange."""
    most = CAP_MB_S * (1 + sum(relays))
    # What a slow relay has to the last may be sent again, up to a fiftieth of all: 2 x 8 parts of 8 MiB.
    seconds_of_data = SECONDS * (4 if relays and min(relays) < 1 else 1)
    megabytes = bench.size(int(most * seconds_of_data), int(most * 8))
    sizes = {"large": megabytes * 1_000_000}
    source, target = bench.folder("source"), bench.folder("target")
    seconds = []
    with site(bench.folder("site"), relays) as found:
        if way == "up":
            data.write(source, sizes)
        for _ in range(bench.runs):
            found.ask("anew", {} if way == "up" else {data.PREFIX + name: size for name, size in sizes.items()})
            ends = (f"{source}/", PLACE) if way == "up" else (PLACE, str(target))
            seconds.append(Move(bench, found, way, len(relays)).run(*ends))
            say(f"  {seconds[-1]:.1f} s")
        told = found.ask("found")
    if way == "up" and (told["wrong"] or told["bytes"] != sum(sizes.values())):
        raise BenchError(f"the server has {told}")
    if way == "down" and (target / "large").stat().st_size != sizes["large"]:
        raise BenchError("what has come is not what was there")
    middle = sorted(seconds)[len(seconds) // 2]
    share = megabytes / most / middle
    note = f"{megabytes} MB in {middle:.1f} s; all together may exchange {most:g} MB/s"
    return [Result(name_of(way, relays), round(share, 3), "of the caps", BAR, "higher", note)]


def name_of(way: str, relays: Sequence[float]) -> str:
    """Of a case."""
    slow = ", ten times slower" if relays and min(relays) < 1 else ""
    return f"{way}, {len(relays)} relay{'' if len(relays) == 1 else 's'}{slow}"


def main(arguments: Sequence[str]) -> int:
    """Measure each way with each number of relays, publish."""
    parser = argparse.ArgumentParser(prog="python -m bench.buckets.ways", description=__doc__)
    parser.add_argument("--ways", type=names_among(WAYS), default=list(WAYS), help="of up,down")
    parser.add_argument("--runs", type=int, default=3, help="of each, of which the middle one counts")
    parser.add_argument("--quick", action="store_true", help="few bytes, to try the harness")
    options = parser.parse_args(arguments)
    results: list[Result] = []
    with workspace("cpt-ways-") as work:
        bench = Bench(DAEMON.resolve(), work, 1 if options.quick else options.runs, options.quick)
        for way in options.ways:
            for relays in RELAYS:
                results += measured(name_of(way, relays), partial(case, bench, way, relays), (BenchError, OSError))
    return publish("ways", results, " ".join(["python -m bench.buckets.ways", *arguments]), versions())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
