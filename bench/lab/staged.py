"""The dissertation's way through relays: each keeps what it gets, and passes it on when it has all that it holds back.

`python -m bench.lab.staged source|relay|sink JSON` is one machine. Chunks travel in the clear, each behind its
place in the file and its length. A relay that holds back one chunk stores and forwards chunk by chunk; one that holds
back its whole share makes the phases of Equation 3.4.
"""

import json
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import IO, Any

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.process import listening, running

HEADER = struct.Struct("!QQ")
BLOCK = 256 << 10
PORT = 4700
START_SECONDS = 0.4
"""Until the source has started, so that its start is not part of the time."""
TIMEOUT = 300.0


def move(
    bench: Bench,
    source: Path,
    ends: tuple[Node, Node],
    pairs: Sequence[tuple[Node, ...]],
    *,
    chunks: int,
    hold: int,
    after: float,
    split: float | None = None,
    each: Callable[[float], None] | None = None,
) -> float:
    """Seconds from the start to the last byte, `after` of them until relays serve; without pairs straight.

    With `split`, MB/s, the file is cut before anything is sent, and joined after everything has come. `each` is told
    the age some twenty times a second.
    """
    size = (source / "large").stat().st_size
    sender, receiver = ends
    with ExitStack() as stack:

        def start(role: str, name: str, node: Node, given: Mapping[str, Any]) -> Any:
            folder = bench.folder(f"staged-{name}")
            text = json.dumps({"folder": str(folder), "listen": node.address, **given})
            argv = [sys.executable, "-m", "bench.lab.staged", role, text]
            program = stack.enter_context(running(argv, bench.work / f"staged-{name}.log", node))
            if role != "source":
                listening(node, PORT, program)
            return program

        sink = start("sink", "sink", receiver, {"bytes": size, "ways": max(1, len(pairs)), "split": split})
        relays = []
        for number, hops in enumerate(pairs):
            share = len(range(number, chunks, len(pairs)))
            held = {"hold": min(hold, share), "chunks": share}
            # The last one first: each dials the next as soon as the one before has dialled it.
            for place, (node, then) in enumerate(reversed([*pairwise([*hops, receiver])])):
                given = {**held, "next": then.address}
                relays.append(start("relay", f"{number}-{place}", node, given))
        begun = time.monotonic() + START_SECONDS
        firsts = [hops[0].address for hops in pairs] or [receiver.address]
        given = {"file": str(source / "large"), "to": firsts, "chunks": chunks, "at": begun + after, "split": split}
        sending = start("source", "source", sender, given)
        sink.wait(TIMEOUT, (lambda: each(time.monotonic() - begun)) if each else None)
        for program in (sending, *relays):
            program.wait(TIMEOUT)
    return float(sink.tail()) - begun


def source_role(file: str, to: Sequence[str], chunks: int, at: float, split: float | None, **given: Any) -> None:
    """Send chunk n to relay n modulo their number, to all relays at once."""
    size = Path(file).stat().st_size
    places = [size * number // chunks for number in range(chunks + 1)]
    ways = [socket.create_connection((address, PORT)) for address in to]

    def send(lane: int) -> None:
        with Path(file).open("rb") as data, ways[lane] as way:
            for number in range(lane, chunks, len(to)):
                begin, end = places[number], places[number + 1]
                way.sendall(HEADER.pack(begin, end - begin))
                way.sendfile(data, begin, end - begin)

    time.sleep(max(0.0, at - time.monotonic()))
    if split:
        _paced(Path(file), Path(given["folder"]) / "cut", split)
    lanes = [Thread(target=send, args=(lane,)) for lane in range(len(to))]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()


def relay_role(folder: str, listen: str, chunks: int, hold: int, **given: Any) -> None:
    """Keep chunks, and pass them on in their order once `hold` of them are whole; others come meanwhile."""
    stored: Queue[tuple[int, Path]] = Queue()
    with socket.create_server((listen, PORT)) as server, ExitStack() as stack:
        connection = stack.enter_context(server.accept()[0])
        way = stack.enter_context(socket.create_connection((given["next"], PORT)))
        enough = Event()

        def forward() -> None:
            enough.wait()
            for _ in range(chunks):
                place, path = stored.get()
                way.sendall(HEADER.pack(place, path.stat().st_size))
                with path.open("rb") as data:
                    way.sendfile(data)
                path.unlink()

        lane = Thread(target=forward)
        lane.start()
        for number in range(chunks):
            stored.put(_receive(connection, Path(folder) / f"chunk-{number}"))
            if number + 1 >= hold:
                enough.set()
        lane.join()


def sink_role(folder: str, listen: str, ways: int, split: float | None, **given: Any) -> None:
    """Write what comes to its place, and say when all has come."""
    target, arrived = Path(folder) / "large", []

    def take(connection: socket.socket) -> None:
        with connection, target.open("r+b") as file:
            while header := _exactly(connection, HEADER.size):
                place, size = HEADER.unpack(header)
                file.seek(place)
                _copy(connection, file, size)
                arrived.append(size)

    target.touch()
    with socket.create_server((listen, PORT)) as server:
        takers = [Thread(target=take, args=(server.accept()[0],)) for _ in range(ways)]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()
    if sum(arrived) != given["bytes"]:
        raise SystemExit(f"staged: {sum(arrived)} bytes arrived; {given['bytes']} were sent")
    if split:
        _paced(target, Path(folder) / "joined", split)
    print(time.monotonic())


def _paced(source: Path, target: Path, mb_s: float) -> None:
    """Copy a file as a disk of so many MB/s would."""
    began, done = time.monotonic(), 0
    with source.open("rb") as read, target.open("wb") as write:
        while data := read.read(BLOCK):
            write.write(data)
            done += len(data)
            time.sleep(max(0.0, began + done / (mb_s * 1e6) - time.monotonic()))
    target.unlink()


def _receive(connection: socket.socket, path: Path) -> tuple[int, Path]:
    place, size = HEADER.unpack(_exactly(connection, HEADER.size))
    with path.open("wb") as file:
        _copy(connection, file, size)
    return place, path


def _copy(connection: socket.socket, file: IO[bytes], size: int) -> None:
    buffer = memoryview(bytearray(BLOCK))
    while size:
        count = connection.recv_into(buffer, min(size, BLOCK))
        if not count:
            raise SystemExit(f"staged: the connection ended {size} bytes before the end of a chunk")
        file.write(buffer[:count])
        size -= count


def _exactly(connection: socket.socket, size: int) -> bytes:
    return connection.recv(size, socket.MSG_WAITALL)


ROLES: Mapping[str, Callable[..., None]] = {"source": source_role, "relay": relay_role, "sink": sink_role}

if __name__ == "__main__":
    ROLES[sys.argv[1]](**json.loads(sys.argv[2]))
