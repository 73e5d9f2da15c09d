"""cpt-relay by hand: plan (not timed), receiver, relays, sender."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.data_plane import files
from bench.data_plane.bench import MIB, Bench
from bench.data_plane.network import Node, connections
from bench.data_plane.process import BenchError, Ended, Program, running, until
from lambdas.core.chunks.plan import chunk_size, lanes_per_path, lanes_to_plan_for

PORT = 4600
TIMEOUT = 600.0


@dataclass(frozen=True)
class Route:
    """Where the data goes: from `sender` to `receiver`, straight and through these pairs of relays."""

    sender: Node
    receiver: Node
    pairs: Sequence[tuple[Node, ...]] = ()
    direct: bool = True
    front: str | None = None
    """What the sender dials as if it were the receiver (a plain forwarder)."""

    @property
    def paths(self) -> int:
        """Ways from sender to receiver."""
        return len(self.pairs) + int(self.direct)


@dataclass(frozen=True)
class Moved:
    """A transfer that both ends agreed on."""

    seconds: float
    """From the start of `send` to the exit of both ends; with relays, from when they are ready."""
    ended: Mapping[str, Ended]
    """What each process used: `sender`, `receiver`, `relay-N`."""
    lanes: int
    """The most TCP connections that the receiver had at once."""
    planned_seconds: float
    """Listing and plan, which come before."""


@dataclass
class Transfer:
    """A planned transfer."""

    bench: Bench
    source: Path
    lanes: int | None = None
    """Per path. None: what the planner would choose where no rate is known."""
    has_fixed_lanes: bool = False
    """The sender opens no others."""
    between_regions: bool = False
    """For the planner, which then expects more lanes."""
    chunk_mib: int | None = None
    """None: what the planner would choose for so many bytes and lanes."""
    chunk_kib: int | None = None
    """In place of both, where a MiB takes too long."""
    environment: Mapping[str, str] = field(default_factory=dict)
    compress: bool = False
    preserve: Mapping[str, bool] | None = None
    arrives: Path | None = None
    """Where the files go; by default into memory, as they come from there."""
    unsynced: bool = False
    verify: str = "digest"
    """What proves that everything arrived as it was sent: `digest`, `readback` or `crc64`."""

    def plan(self, paths: int) -> Path:
        """Plan anew into an empty control directory."""
        control = self.bench.folder("control")
        sizes = [path.lstat().st_size for path in self.source.rglob("*") if path.is_file()]
        lanes = self.bench.lanes or self.lanes or lanes_per_path(0, sum(sizes), len(sizes))
        chunk_mib = self.bench.chunk_mib or self.chunk_mib or self._chunk_mib(sum(sizes), lanes, paths)
        size = ["--chunk-kib", str(self.chunk_kib)] if self.chunk_kib else ["--chunk-mib", str(chunk_mib)]
        options = [*size, "--lanes", str(lanes)]
        options += self._preserve()
        argv = [str(self.bench.daemon), "plan", "--control-dir", str(control), *options, f"{self.source}/"]
        with running(argv, self._log("plan")) as planning:
            planning.wait(TIMEOUT)
        return control

    def _chunk_mib(self, size: int, lanes: int, paths: int) -> int:
        return chunk_size(size, lanes_to_plan_for(lanes, paths, between_regions=self.between_regions), None) // MIB

    def move(self, route: Route, each: Callable[[Program], None] | None = None) -> Moved:
        """Move the tree into an empty folder; `each` sees the receiver some twenty times a second."""
        begun_at = time.monotonic()
        control = self.plan(route.paths)
        planned_seconds = time.monotonic() - begun_at
        arrived = replace(self.bench, work=self.arrives or self.bench.work).folder("arrived")
        lanes = 0

        def watch() -> None:
            nonlocal lanes
            with suppress(OSError):  # the receiver may just have ended
                for program in (receiver, *relays.values()):
                    program.peak_bytes()
                lanes = max(lanes, connections(receiver.pid, PORT))
                if each:
                    each(receiver)

        with ExitStack() as stack:
            receiver = stack.enter_context(self.receiver(control, arrived, route))
            relays, sender, begun = self._start(stack, control, route)
            ended = {"sender": sender.wait(TIMEOUT, watch), "receiver": receiver.wait(TIMEOUT)}
            last = max(sender.started + ended["sender"].seconds, receiver.started + ended["receiver"].seconds)
            for name, relay in relays.items():
                ended[name] = relay.stop()
        return Moved(last - begun, ended, lanes, planned_seconds)

    def _start(self, stack: ExitStack, control: Path, route: Route) -> tuple[dict[str, Program], Program, float]:
        """Relays cannot listen before they have the key of the sender, which dials as soon as it sees the receiver's
        record. So that is hidden until the relays are ready, as the control plane names only relays that are.
        """
        if not route.pairs:
            sender = stack.enter_context(self.sender(control, route))
            return {}, sender, sender.started
        record = _key_of_receiver(control)
        hidden = record.rename(control / "key.hidden")
        relays = stack.enter_context(self.relays(control, route))
        sender = stack.enter_context(self.sender(control, route))
        for name in relays:
            ready = control / f"{name}.ready"
            until(partial(is_ready, ready), f"{name}'s ready file", [sender, *relays.values()])
        hidden.rename(record)
        return relays, sender, time.monotonic()

    def check_arrived(self) -> None:
        """Compare what arrived with the source, byte by byte. Raises BenchError."""
        if files.digests(self.source) != files.digests(self.bench.work / "arrived"):
            raise BenchError("what arrived is not what was sent")

    @contextmanager
    def receiver(self, control: Path, arrived: Path, route: Route) -> Iterator[Program]:
        """A receiver that is ready; its record names `route.front` where that is set."""
        ready = control / "receive.ready"
        argv = ["receive", "--listen", f"{route.receiver.address}:{PORT}", "--ready", str(ready), *self._preserve()]
        argv += ["--verify", self.verify, *(["--unsynced"] if self.unsynced else [])]
        with self.daemon("receive", [*argv, str(arrived)], control, route.receiver) as receiver:
            until(partial(is_ready, ready), "the receiver's ready file", [receiver])
            if route.front:
                record = _key_of_receiver(control)
                record.write_text(json.dumps({**json.loads(record.read_text()), "address": route.front}))
            yield receiver

    @contextmanager
    def relays(self, control: Path, route: Route) -> Iterator[dict[str, Program]]:
        """All relays of a route; each waits for the sender's key."""
        with ExitStack() as stack:
            nodes = [node for pair in route.pairs for node in pair]
            relays = {}
            for number, node in enumerate(nodes):
                name = f"relay-{number}"
                argv = ["relay", "--listen", f"{node.address}:{PORT}", "--ready", str(control / f"{name}.ready")]
                relays[name] = stack.enter_context(self.daemon(name, argv, control, node))
            yield relays

    @contextmanager
    def sender(self, control: Path, route: Route) -> Iterator[Program]:
        """The sender; without a path it waits for one in the membership."""
        argv = ["send", *(["--direct"] if route.direct else []), *(["--compress", "auto"] if self.compress else [])]
        argv += ["--verify", self.verify, *(["--fixed-lanes"] if self.has_fixed_lanes else [])]
        for relays in route.pairs:
            argv += ["--via", ",".join(f"{node.address}:{PORT}" for node in relays)]
        with self.daemon("send", argv, control, route.sender) as sender:
            yield sender

    def daemon(self, name: str, argv: Sequence[str], control: Path, node: Node) -> Any:
        """A daemon on a node; `argv` begins with its role."""
        command, *rest = argv
        full = [str(self.bench.daemon), command, "--control-dir", str(control), *rest]
        return running(full, self._log(name), node, self.environment)

    def _preserve(self) -> list[str]:
        return ["--preserve", json.dumps(self.preserve)] if self.preserve else []

    def _log(self, name: str) -> Path:
        return self.bench.work / f"{name}.log"


def _key_of_receiver(control: Path) -> Path:
    """The receiver's record; builds before there were seats call it otherwise."""
    (record,) = (control / "records").glob("key-r*.json")
    return record


def is_ready(file: Path) -> bool:
    """Whether a daemon's ready file says so: it is there, and empty, before."""
    return file.exists() and file.read_bytes().endswith(b"\n")
