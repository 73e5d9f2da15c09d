"""Bytes that the kernel counts as they arrive at machines, headers included."""

from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TextIO

from local.instances.netns import command, inside

# 5 machines are read in less than a millisecond.
INTERVAL_SECONDS = 0.05
DEVICE = "eth0:"
# What comes by the internet path, and so past the pool: all other regions' public addresses.
PUBLIC = "100.64.0.0/10"

Samples = list[tuple[float, float]]
"""Moments of the monotonic clock, and MB until then."""


class Counter:
    """What arrives at machines, by name, sampled as long as the `with` lasts; `namespaces` by the same names."""

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        self._files: dict[str, TextIO] = {
            # The file shows the namespace of the thread that has opened it, whoever reads it.
            name: inside(namespace, _open_counters)
            for name, namespace in namespaces.items()
        }
        self._done = Event()
        self._thread = Thread(target=self._run, name="count", daemon=True)
        self.samples: dict[str, Samples] = {name: [] for name in namespaces}

    def __enter__(self) -> "Counter":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        for file in self._files.values():
            file.close()

    def _run(self) -> None:
        while not self._done.wait(INTERVAL_SECONDS):
            for name, file in self._files.items():
                self.samples[name].append((monotonic(), _received(file) / 1e6))


def _open_counters() -> TextIO:
    return Path("/proc/thread-self/net/dev").open(encoding="ascii")


def _received(file: TextIO) -> int:
    file.seek(0)
    line = next(line for line in file if line.strip().startswith(DEVICE))
    return int(line.split()[1])


def moved(samples: Samples, begin: float, end: float) -> float:
    """MB that arrived between two moments of the monotonic clock."""
    return _at(samples, end) - _at(samples, begin)


def _at(samples: Samples, moment: float) -> float:
    known = [mb for at, mb in samples if at <= moment]
    return known[-1] if known else 0.0


def close_direct(namespace: str, *, closed: bool = True) -> None:
    """Drop what comes to a machine past the pool, answers included; or let it in again."""
    rules = "table ip closed\ndelete table ip closed\n"
    if closed:
        chain = f"type filter hook input priority -200; policy accept; ip saddr {PUBLIC} drop;"
        rules += f"table ip closed {{\n chain input {{\n {chain}\n }}\n}}\n"
    command("nsenter", f"--net=/run/netns/{namespace}", "--", "nft", "-f", "-", text=rules)


def namespace_of(instance_id: str) -> str:
    """The machine's namespace, whose name ends with the last characters of its id. Raises LookupError."""
    found = [path.name for path in Path("/run/netns").iterdir() if path.name.endswith(f"-{instance_id[-5:]}")]
    if len(found) != 1:
        raise LookupError(f"{instance_id}: {len(found)} namespaces; there must be one")
    return found[0]
