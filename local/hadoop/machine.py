"""Where one daemon of Hadoop runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from local.instances.netns import inside

T = TypeVar("T")


@dataclass(frozen=True)
class Machine:
    """An address with its ports, directories and environment.

    `ports`: of a name node RPC and HTTP, of a data node data, IPC and HTTP. `folder`: what the daemon keeps.
    `prefix`: what stands before a command to run it here. `namespace`: its network namespace, if it has one.
    """

    name: str
    address: str
    ports: tuple[int, ...]
    folder: Path
    conf: Path
    log: Path
    environment: Mapping[str, str]
    prefix: tuple[str, ...] = ()
    namespace: str = ""

    @property
    def temporary(self) -> Path:
        """Where daemons and commands here put temporary files."""
        return self.folder / "tmp"

    def call(self, act: Callable[[], T]) -> T:
        """What `act` returns, which reaches the network as this machine does."""
        return inside(self.namespace, act) if self.namespace else act()
