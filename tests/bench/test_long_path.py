"""The forwarder that makes a path long, over socket pairs that keep packets apart as tun devices do."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.data_plane.__main__ import DAEMON
from bench.data_plane.long_path import Shape

DELAY = 0.05
LAST = b"last"
Ends = tuple[socket.socket, socket.socket]


def waits_for(pid: int) -> list[str]:
    """Of each thread its state, and the call of the kernel in which it is."""
    threads = sorted(Path(f"/proc/{pid}/task").iterdir())
    return [(one / "stat").read_text().split()[2] + " " + (one / "syscall").read_text().strip() for one in threads]


@contextmanager
def long_path(shape: Shape) -> Iterator[Ends]:
    """Both far ends of a long path."""
    left, one = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    right, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for inner in (one, other):
        inner.setblocking(False)
    argv = [str(DAEMON), "long-path", shape.arguments()]
    program = subprocess.Popen(argv, stdin=one.fileno(), stdout=other.fileno(), stderr=subprocess.PIPE)
    one.close()
    other.close()
    try:
        yield left, right
    finally:
        left.close()
        right.close()
        try:
            _, said = program.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            what = waits_for(program.pid)
            program.kill()
            program.communicate()
            raise AssertionError(f"the path outlives its ends: {what}") from None
    assert program.returncode in (0, 1), said


@pytest.fixture
def path() -> Iterator[Ends]:
    with long_path(Shape(2 * DELAY, 1000)) as ends:
        yield ends


def numbers(end: socket.socket) -> list[int]:
    """The first two bytes of each packet that comes before the last one."""
    return [int.from_bytes(packet[:2], "big") for packet in iter(lambda: end.recv(2000), LAST)]


def test_packets_come_late_whole_and_in_order(path: Ends) -> None:
    left, right = path
    packets = [os.urandom(1 + number) for number in range(100)]
    begun = time.monotonic()
    for packet in packets:
        left.send(packet)
    assert right.recv(65_536) == packets[0]
    assert time.monotonic() - begun >= DELAY
    assert [right.recv(65_536) for _ in packets[1:]] == packets[1:]


def test_both_directions_are_delayed(path: Ends) -> None:
    left, right = path
    begun = time.monotonic()
    left.send(b"there")
    assert right.recv(65_536) == b"there"
    right.send(b"back")
    assert left.recv(65_536) == b"back"
    assert time.monotonic() - begun >= 2 * DELAY


def test_the_line_passes_no_more_than_its_rate_and_its_queue_drops_the_rest() -> None:
    # 8 Mbit/s and 0.2 s: the queue holds 200 KB, of which the line has sent hardly any before the last packet is there.
    with long_path(Shape(0.2, 8)) as (left, right), ThreadPoolExecutor(1) as beside:
        begun = time.monotonic()
        # Read beside: what nobody takes fills the far socket, and is dropped there.
        first = beside.submit(lambda: [int.from_bytes(right.recv(2000)[:2], "big") for _ in range(190)])
        for number in range(400):
            left.send(number.to_bytes(2, "big") * 500)
        came = first.result(60)
        left.send(LAST)
        came += numbers(right)
        last = time.monotonic()
    assert came == sorted(came)
    assert came[:190] == list(range(190)), "the queue takes those that come first"
    assert len(came) < 400
    assert last - begun >= 0.1 + len(came) * 1e-3, "1 000 bytes a millisecond"


def test_a_share_of_the_packets_is_lost_and_the_same_ones_each_time() -> None:
    def arrived() -> list[int]:
        with long_path(Shape(0.01, 8000, loss=0.2)) as (left, right):
            for number in range(200):
                left.send(number.to_bytes(2, "big"))
            for _ in range(20):
                left.send(LAST)
            return numbers(right)

    first = arrived()
    assert 140 <= len(first) <= 180
    assert arrived() == first


def test_jitter_makes_packets_later_by_what_the_seed_draws_and_keeps_their_order() -> None:
    def lateness(seed: int) -> list[float]:
        with long_path(Shape(0.02, 8000, jitter=0.2, seed=seed)) as (left, right):
            seconds = []
            for number in range(8):
                begun = time.monotonic()
                left.send(bytes([number]))
                assert right.recv(2000) == bytes([number])
                seconds.append(time.monotonic() - begun)
            return seconds

    first, again = lateness(1), lateness(1)
    assert min(first) >= 0.01
    assert max(first) - min(first) > 0.05
    # A busy machine is late by some milliseconds, too; another draw would differ by about 70 ms.
    assert sum(abs(a - b) for a, b in zip(first, again, strict=True)) / 8 < 0.03


def test_what_is_no_path_is_refused_by_name() -> None:
    wrong = {**json.loads(Shape(0.1, 8).arguments()), "rates": [[0, 0]]}
    early = {**json.loads(Shape(0.1, 8).arguments()), "jitterMs": -1}
    refusals = {json.dumps(wrong): "rates must be more than 0", "{}": "delayMs", json.dumps(early): "at least 0"}
    for text, named in refusals.items():
        refused = subprocess.run([str(DAEMON), "long-path", text], capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert named in refused.stderr
