"""One run of a sweep, with its record: what the thesis' scripts left in a folder for each."""

import json
import os
import platform
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, pstdev
from typing import Literal

from bench.data_plane.process import BenchError, Program, running, until
from bench.lab.record import Document
from bench.lab.sweep.plan import Combination, Ran
from bench.lab.sweep.tools import TOOLS, Machines, Run

RAPL = Path("/sys/class/powercap/intel-rapl:0/energy_uj")
ASSUMED_WATTS = 30.0
"""Of each of both machines, where nothing measures it: GREEN's P1 for one that moves data."""
PINGS = 10
ARRIVES = "cpt-sweep"
"""Below the folder that the user names; nothing else there is touched."""
BUFFERS = ("net.ipv4.tcp_wmem", "net.ipv4.tcp_rmem")


class Abstract(Document):
    """What a run was and what came of it; a sweep that is resumed skips those that are complete."""

    tool: str
    streams: int
    window: int
    start: str
    command_line: str
    bytes_to_move: int
    files: int
    source: str
    mean_file_bytes: float
    file_bytes_deviation: float
    local_host: str
    remote_host: str
    bytes_moved: int = 0
    end: str = ""
    completion: Literal["YES", "ABNORMAL"] = "ABNORMAL"
    seconds: float = 0.0
    """In milliseconds; the thesis has whole seconds."""
    mb_s: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    wh_per_tb: float = 0.0
    energy: Literal["measured by RAPL", "assumed watts"] = "assumed watts"
    why: str = ""

    @property
    def combination(self) -> Combination:
        """What was tried."""
        return Combination(self.tool, self.streams, self.window)

    @property
    def ran(self) -> Ran:
        """The row of the table."""
        return Ran(
            self.combination, self.mb_s, self.cpu_seconds / (self.bytes_moved / 1e9), self.peak_bytes, self.wh_per_tb
        )


@dataclass(frozen=True)
class Sweep:
    """What all runs share."""

    machines: Machines
    source: Path
    target: Path
    out: Path
    comments: str
    timeout: float

    @property
    def sizes(self) -> list[int]:
        """Of the source's files."""
        return [path.stat().st_size for path in sorted(self.source.rglob("*")) if path.is_file()]

    def done(self) -> list[Abstract]:
        """Of earlier runs, whole ones."""
        found = [Abstract.model_validate_json(path.read_text()) for path in sorted(self.out.glob("*/abstract"))]
        return [one for one in found if one.completion == "YES"]

    def run(self, one: Combination) -> Abstract:
        """Run it once; a tool that fails or hangs leaves a record that says so."""
        began = datetime.now(UTC)
        stamp = f"{began:%Y-%m-%d_%H:%M:%S}"
        host, remote = platform.node() or "local", self.machines.address
        folder = self._folder(f"{one.tool}.{host}.{remote}.{stamp}_{one.streams}_{one.window}")
        sizes = self.sizes
        arrives = self._empty()
        programs = TOOLS[one.tool].run(one, self.machines, self.source, arrives, sum(sizes))
        abstract = Abstract(
            tool=one.tool,
            streams=one.streams,
            window=one.window,
            start=began.isoformat(timespec="milliseconds"),
            command_line=shlex.join(programs.client),
            bytes_to_move=sum(sizes),
            files=len(sizes),
            source=str(self.source),
            mean_file_bytes=fmean(sizes),
            file_bytes_deviation=pstdev(sizes),
            local_host=host,
            remote_host=remote,
        )
        self._surroundings(folder, one)
        try:
            with self._buffers(one):
                found = self._timed(folder, one, programs)
        except (BenchError, OSError) as error:
            found = {"why": str(error)}
        end = datetime.now(UTC).isoformat(timespec="milliseconds")
        moved = 0
        if "seconds" in found:
            moved = _iperf3_bytes(folder / "log") if one.tool == "iperf3" else self._arrived(arrives)
        # iperf3 moves no files, and what is still under way when its client ends is not counted.
        whole = "seconds" in found and (moved > 0 if one.tool == "iperf3" else moved == sum(sizes))
        if "seconds" in found:
            found["mb_s"] = moved / 1e6 / float(str(found["seconds"]))
            found["wh_per_tb"] = float(str(found.pop("wh"))) / (max(moved, 1) / 1e12)
        made = {
            **abstract.model_dump(),
            **found,
            "bytes_moved": moved,
            "end": end,
            "completion": "YES" if whole else "ABNORMAL",
        }
        done = Abstract.model_validate(made)
        (folder / "abstract").write_text(done.model_dump_json(by_alias=True, indent=1) + "\n")
        return done

    def _empty(self) -> Path:
        """A folder of ours at the far machine, where anybody may write, as GridFTP's anonymous user does."""
        arrives = self.target / ARRIVES
        for argv in (["rm", "-rf"], ["mkdir", "-p", "-m", "777"]):
            subprocess.run([*self.machines.far, *argv, str(arrives)], check=True, timeout=self.timeout)
        return arrives

    def _arrived(self, arrives: Path) -> int:
        """Bytes of the files at the far machine."""
        argv = [*self.machines.far, "find", str(arrives), "-type", "f", "-printf", "%s,"]
        found = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=self.timeout)
        return sum(int(size) for size in found.stdout.split(",") if size)

    def _folder(self, name: str) -> Path:
        """A new one; runs of one second are numbered."""
        for number in range(1000):
            folder = self.out / (f"{name}.{number}" if number else name)
            if not folder.exists():
                folder.mkdir(parents=True)
                return folder
        raise FileExistsError(f"{self.out / name}: there are a thousand of them")

    def _timed(self, folder: Path, one: Combination, programs: Run) -> dict[str, object]:
        for argv in programs.before:
            subprocess.run([*self.machines.near, *argv], capture_output=True, check=True, timeout=self.timeout)
        top, joules = folder / "top", _joules()
        with running([*self.machines.far, *programs.server], folder / "log-server") as server:
            until(lambda: self._listens(programs.port), f"{one.tool}'s server", [server])
            began = time.monotonic()
            with running([*self.machines.near, *programs.client], folder / "log") as client, top.open("w") as samples:

                def sample() -> None:
                    ends = f"client {_cpu(client):.2f} CPU s, {client.peak_bytes()} B; server {_cpu(server):.2f} CPU s"
                    print(
                        f"{time.monotonic() - began:.2f} s: {ends}",
                        file=samples,
                    )

                ended = client.wait(self.timeout, sample)
            served = server.wait(self.timeout) if programs.server_ends else server.stop()
            seconds = time.monotonic() - began if programs.server_ends else ended.seconds
        spent = _joules()
        wh = 2 * ASSUMED_WATTS * seconds / 3600 if spent is None or joules is None else (spent - joules) / 3600
        return {
            "seconds": seconds,
            "cpu_seconds": ended.cpu_seconds + served.cpu_seconds,
            "peak_bytes": ended.peak_bytes + served.peak_bytes,
            "wh": wh,
            "energy": "assumed watts" if spent is None or joules is None else "measured by RAPL",
        }

    def _listens(self, port: int) -> bool:
        argv = [*self.machines.far, "ss", "-Hltn", f"sport = :{port}"]
        return bool(subprocess.run(argv, capture_output=True, text=True, check=False, timeout=20).stdout.strip())

    @contextmanager
    def _buffers(self, one: Combination) -> Iterator[None]:
        """TCP's largest buffers, for a tool that has no option; what they were comes back."""
        if TOOLS[one.tool].has_windows:
            yield
            return
        before = {}
        for place in (self.machines.near, self.machines.far):
            for name in BUFFERS:
                old = subprocess.run(
                    [*place, "sysctl", "-n", name], capture_output=True, text=True, check=True
                ).stdout.split()
                before[(*place, name)] = " ".join(old)
                new = f"{old[0]} {min(int(old[1]), one.window)} {one.window}"
                subprocess.run([*place, "sysctl", "-q", "-w", f"{name}={new}"], check=True)
        try:
            yield
        finally:
            for (*place, name), values in before.items():
                subprocess.run([*place, "sysctl", "-q", "-w", f"{name}={values}"], check=True)

    def _surroundings(self, folder: Path, one: Combination) -> None:
        """Ping, route, what the user wrote, and how the system was set."""
        address, near = self.machines.address, self.machines.near
        asks = {
            "ping": ["ping", "-c", str(PINGS), "-i", "0.2", "-q", address],
            "traceroute": ["traceroute", "-n", "-w", "1", address],
            "system": ["sysctl", "-a"],
        }
        for name, argv in asks.items():
            with (folder / name).open("w") as file:
                if shutil.which(argv[0]):
                    subprocess.run([*near, *argv], stdout=file, stderr=subprocess.DEVNULL, check=False, timeout=60)
                else:
                    file.write(f"{argv[0]} is not installed here\n")
        with (folder / "system").open("a") as file:
            for path in map(Path, ("/proc/cpuinfo", "/proc/meminfo", "/proc/version")):
                file.write(f"\n{path}\n{path.read_text()}")
        (folder / "comments").write_text(f"{one}\n{self.comments}\n")


def _iperf3_bytes(log: Path) -> int:
    """What its server received, of all streams together."""
    received: int = json.loads(log.read_text())["end"]["sum_received"]["bytes"]
    return received


def _cpu(program: Program) -> float:
    try:
        return program.cpu_seconds()
    except OSError:  # it has just ended
        return 0.0


def _joules() -> float | None:
    """Of this machine's processors so far, where the kernel tells it."""
    return int(RAPL.read_text()) / 1e6 if os.access(RAPL, os.R_OK) else None
