"""Daemons whose packets are lost, those to them and those from them: the firewall drops them, and connections stay."""

import os
import shutil
import subprocess
from collections.abc import Collection

from local.hadoop.errors import HadoopError


class BlackHole:
    """Ports of this machine whose packets are dropped; needs root and nft."""

    def __init__(self) -> None:
        self._table = f"cpt_hadoop_{os.getpid()}"
        self._ports: set[int] = set()

    def add(self, ports: Collection[int]) -> None:
        """Drop what goes to these ports and what comes from them. Raises HadoopError."""
        all_ports = self._ports | set(ports)
        numbers = ", ".join(map(str, sorted(all_ports)))
        self._run(
            f"table inet {self._table}",
            f"delete table inet {self._table}",
            f"table inet {self._table} {{",
            "chain input {",
            "type filter hook input priority -10",
            f"tcp dport {{ {numbers} }} drop",
            f"tcp sport {{ {numbers} }} drop",
            "}",
            "}",
        )
        self._ports = all_ports

    def lift(self) -> None:
        """Let all packets pass again. Raises HadoopError."""
        if self._ports:
            self._run(f"delete table inet {self._table}")
            self._ports.clear()

    def _run(self, *lines: str) -> None:
        nft = shutil.which("nft")
        if nft is None or os.geteuid() != 0:
            raise HadoopError("packets are dropped by nft, as root")
        script = "\n".join([*lines, ""])
        done = subprocess.run([nft, "-f", "-"], input=script, capture_output=True, text=True, check=False)
        if done.returncode:
            raise HadoopError(f"nft: {done.stderr.strip()}")
