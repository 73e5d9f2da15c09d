"""The way from a person's laptop to AWS, which can be cut and mended."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Wire:
    """Forwards TCP connections to an endpoint; while it is cut, all that stand are broken and new ones are closed."""

    def __init__(self, endpoint: str) -> None:
        target = urlsplit(endpoint)
        self._target = (target.hostname, target.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._whole = True
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """Of this end."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        """Nothing passes from now on."""
        with self._lock:
            self._whole = False
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def mend(self) -> None:
        """New connections pass again."""
        with self._lock:
            self._whole = True

    def close(self) -> None:
        """For good."""
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                with self._lock:
                    if not self._whole:
                        near.close()
                        continue
                    far = socket.create_connection(self._target)
                    self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def wire(endpoint: str) -> Iterator[Wire]:
    """A wire that is whole."""
    found = Wire(endpoint)
    yield found
    found.close()
