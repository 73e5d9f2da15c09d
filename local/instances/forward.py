"""Carries connections from sockets in other namespaces to the API: no instance needs a route to the machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading

log = logging.getLogger("local.forward")

PIECE_BYTES = 256 * 1024


class Forwarder:
    """An event loop on a thread that forwards to one address."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._servers: dict[str, asyncio.Server] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="forwarder", daemon=True).start()

    def serve(self, key: str, listener: socket.socket) -> None:
        """Forward what connects to `listener` until `close(key)`."""

        async def start() -> None:
            self._servers[key] = await asyncio.start_server(self._carry, sock=listener)

        asyncio.run_coroutine_threadsafe(start(), self._loop).result()

    def close(self, key: str) -> None:
        """Stop accepting for `key`; nothing happens when it is unknown."""
        server = self._servers.pop(key, None)
        if server is not None:
            self._loop.call_soon_threadsafe(server.close)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection(*self._target)
        except OSError as error:
            log.warning("the API does not answer: %s", error)
            writer.close()
            return
        await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while piece := await reader.read(PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    with contextlib.suppress(ConnectionError, OSError, RuntimeError):
        writer.close()
