"""The forwarder that makes a path long, over socket pairs that keep packets apart as tun devices do."""

import os
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from bench.data_plane.long_path import forward

DELAY = 0.05
Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def path() -> Iterator[Ends]:
    """Both far ends of a long path."""
    left, one = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    right, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for inner in (one, other):
        inner.setblocking(False)

    def run() -> None:
        try:
            forward(one.fileno(), other.fileno(), DELAY)
        except OSError:
            return  # the test closed its ends

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield left, right
    left.close()
    right.close()
    thread.join(10)
    assert not thread.is_alive()
    one.close()
    other.close()


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
