"""Ports of this machine that stay those of daemons which start late, or start again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """One that nobody has now."""
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return int(found.getsockname()[1])


@contextmanager
def kept(count: int) -> Iterator[list[int]]:
    """So many free ports of loopback, which the system gives nobody else until the end.

    A socket that is bound and does not listen keeps a port from being chosen. Java's own sockets allow the reuse of
    addresses too, so a daemon can bind and listen beside it.
    """
    with ExitStack() as stack:
        ports = []
        for _ in range(count):
            keeper = stack.enter_context(socket.socket())
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            keeper.bind((LOOPBACK, 0))
            ports.append(int(keeper.getsockname()[1]))
        yield ports
