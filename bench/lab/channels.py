"""Files over channels as GridFTP moves them, with the pipelining, parallelism and concurrency that a policy asks for.

`python -m bench.lab.channels JSON` is the receiver, `bench.lab.policies` the sender. A channel has as many streams as
its parallelism; a file is cut into a part for each. The receiver confirms a file when all of it is written. Bytes
travel in the clear, and nothing is synced, which favours the policies over CPT.
"""

import json
import os
import socket
import struct
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Lock, Semaphore, Thread
from typing import Any

from bench.lab.tuning import Setting

PORT = 4800
HELLO = struct.Struct("!QI")
PART = struct.Struct("!IQQQ")
ACK = struct.Struct("!I")
BLOCK = 256 << 10


@dataclass(frozen=True)
class File:
    """One file of the source; the receiver knows its number alone."""

    number: int
    path: str
    size: int


class Channel:
    """Streams to the receiver; files go one after the other."""

    def __init__(self, to: str, number: int, parallelism: int) -> None:
        self.parallelism = parallelism
        self._streams = [socket.create_connection((to, PORT)) for _ in range(parallelism)]
        for place, stream in enumerate(self._streams):
            stream.sendall(HELLO.pack(number, place))
        self._parts: list[SimpleQueue[tuple[File, int, int]]] = [SimpleQueue() for _ in self._streams]
        self._permits = Semaphore(0)
        self._unconfirmed = 0
        self._changed = Condition()
        for place in range(parallelism if parallelism > 1 else 0):
            Thread(target=self._sends, args=(place,), daemon=True).start()
        Thread(target=self._hears, daemon=True).start()

    def carry(self, take: Callable[[], tuple[File, int] | None]) -> None:
        """Send what `take` gives, each with its pipelining; return when all of it is confirmed."""
        while taken := take():
            file, pipelining = taken
            with self._changed:
                while self._unconfirmed > pipelining:
                    self._changed.wait()
                self._unconfirmed += 1
            if self.parallelism == 1:
                self._send(self._streams[0], file, 0, file.size)
                continue
            cuts = [file.size * place // self.parallelism for place in range(self.parallelism + 1)]
            for parts, begin, end in zip(self._parts, cuts, cuts[1:], strict=False):
                if end > begin:
                    parts.put((file, begin, end))
        with self._changed:
            while self._unconfirmed:
                self._changed.wait()

    def _sends(self, place: int) -> None:
        while True:
            self._send(self._streams[place], *self._parts[place].get())

    @staticmethod
    def _send(stream: socket.socket, file: File, begin: int, end: int) -> None:
        stream.send(PART.pack(file.number, file.size, begin, end - begin), socket.MSG_MORE)
        with Path(file.path).open("rb") as data:
            stream.sendfile(data, begin, end - begin)

    def _hears(self) -> None:
        while self._streams[0].recv(ACK.size, socket.MSG_WAITALL):
            with self._changed:
                self._unconfirmed -= 1
                self._changed.notify_all()


class Mover:
    """Moves groups of files, and keeps channels from one to the next."""

    def __init__(self, to: str) -> None:
        self._to = to
        self._channels: dict[int, list[Channel]] = defaultdict(list)
        self.chunks: list[dict[str, Any]] = []

    def channels(self, setting: Setting, others: int = 0) -> list[Channel]:
        """Open ones with this parallelism, and new ones where there are too few; `others` are taken."""
        known = self._channels[setting.parallelism]
        while len(known) < others + setting.concurrency:
            known.append(Channel(self._to, sum(map(len, self._channels.values())), setting.parallelism))
        return known[others : others + setting.concurrency]

    def move(self, files: Sequence[File], setting: Setting) -> float:
        """Bytes a second of these files."""
        left, began = deque(files), time.monotonic()

        def take() -> tuple[File, int] | None:
            try:
                return left.popleft(), setting.pipelining
            except IndexError:
                return None

        _together([(channel, take) for channel in self.channels(setting)])
        return self._note(setting, files, began)

    def at_once(self, classes: Sequence[tuple[Sequence[File], Setting]]) -> None:
        """Classes at the same time; a channel whose class is done helps the one that has most left for each channel."""
        began, lock = time.monotonic(), Lock()
        left = [deque(files) for files, _ in classes]
        work: list[tuple[Channel, Callable[[], tuple[File, int] | None]]] = []
        for place, (_, setting) in enumerate(classes):

            def take(own: int = place) -> tuple[File, int] | None:
                with lock:
                    most = (
                        own if left[own] else max(range(len(left)), key=lambda one: _left(left[one], classes[one][1]))
                    )
                    return (left[most].popleft(), classes[most][1].pipelining) if left[most] else None

            taken = sum(s.concurrency for _, s in classes[:place] if s.parallelism == setting.parallelism)
            work += [(channel, take) for channel in self.channels(setting, taken)]
        _together(work)
        for files, setting in classes:
            self._note(setting, files, began)

    def _note(self, setting: Setting, files: Sequence[File], began: float) -> float:
        size, seconds = sum(file.size for file in files), time.monotonic() - began
        self.chunks.append({**asdict(setting), "files": len(files), "bytes": size, "seconds": seconds})
        return size / seconds


def _left(files: Sequence[File], setting: Setting) -> float:
    return sum(file.size for file in files) / setting.concurrency


def _together(work: Sequence[tuple[Channel, Callable[[], tuple[File, int] | None]]]) -> None:
    threads = [Thread(target=channel.carry, args=(take,)) for channel, take in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Receiver:
    """Writes parts, and confirms whole files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left: dict[int, int] = {}
        self._first: dict[int, socket.socket] = {}
        self._lock = Lock()

    def take(self, stream: socket.socket) -> None:
        """One stream until its end."""
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        channel, place = HELLO.unpack(stream.recv(HELLO.size, socket.MSG_WAITALL))
        if place == 0:
            self._first[channel] = stream
        buffer = memoryview(bytearray(BLOCK))
        while header := stream.recv(PART.size, socket.MSG_WAITALL):
            number, size, at, length = PART.unpack(header)
            target = os.open(self._folder / str(number), os.O_WRONLY | os.O_CREAT, 0o644)
            left = length
            while left:
                count = stream.recv_into(buffer, min(left, BLOCK))
                if not count:
                    raise SystemExit(f"channels: a stream ended {left} bytes before the end of a part")
                os.pwrite(target, buffer[:count], at)
                at, left = at + count, left - count
            os.close(target)
            with self._lock:
                self._left[number] = self._left.get(number, size) - length
                if self._left[number] == 0:
                    self._first[channel].sendall(ACK.pack(number))


def serve(folder: str, listen: str) -> None:
    """Receive until somebody ends it."""
    receiver = Receiver(Path(folder))
    with socket.create_server((listen, PORT), backlog=512) as server:
        while True:
            Thread(target=receiver.take, args=(server.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
