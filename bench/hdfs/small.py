"""Many small files: by both tools in turn, beside what the name node of the destination can answer."""

from __future__ import annotations

import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.data_plane.process import BenchError
from bench.hdfs import arithmetic
from bench.hdfs.counts import OURS, THEIR_BEST
from bench.hdfs.site import BEST, USER, Site
from bench.results import Result, say
from local.hadoop import jmx
from local.hadoop.cluster import HadoopCluster
from local.hadoop.compiled import with_classes
from local.hadoop.shared_classes import prepare

CALLS = Path(__file__).with_name("calls")
PROGRAM = "cpt.NameNodeCalls"
THREADS, ROUNDS = 16, 250
FILE_BYTES, FOLDER_FILES, PUT_THREADS = 4096, 100, "8"
LEAST_OF_BOUND, LEAST_RATIO = 0.8, 3.0


@dataclass(frozen=True)
class Small:
    """Seconds of each run by tool, of CPT those of its data too; calls of the name node for a file, and in a second."""

    files: int
    start_seconds: float
    seconds: dict[str, list[float]]
    data_seconds: list[float]
    calls_a_file: dict[str, float]
    calls_a_second: float

    def document(self) -> dict[str, Any]:
        """What is kept."""
        return asdict(self)


def measure(site: Site, files: int, runs: int) -> Small:
    """Copy a folder of so many files by both tools in turn. Raises BenchError."""
    _put(site, files)
    rate = calls_a_second(site.destination.hadoop)
    say(f"  the name node answers {rate:.0f} calls a second")
    starts: list[float] = []
    seconds: dict[str, list[float]] = {OURS: [], THEIR_BEST: []}
    data: list[float] = []
    calls: dict[str, float] = {}
    for _ in range(runs):
        starts.append(site.empty(BEST))
        for tool in seconds:
            before = _answered(site.destination.hadoop)
            copy = site.ours(["/in/small"], "small") if tool == OURS else site.distcp(["/in/small"], "small", BEST)
            calls[tool] = (_answered(site.destination.hadoop) - before) / files
            seconds[tool].append(copy.seconds)
            if copy.data_seconds is not None:
                data.append(copy.data_seconds)
            say(f"  {tool}: {copy.seconds:.1f} s, data {copy.data_seconds}, {calls[tool]:.1f} calls a file")
    return Small(files, median(starts), seconds, data, calls, rate)


def verdicts(small: Small) -> list[Result]:
    """The bars."""
    moved = median(small.data_seconds)
    theirs = median(small.seconds[THEIR_BEST])
    without = theirs - small.start_seconds
    most = arithmetic.files_a_second(small.calls_a_second, small.calls_a_file[OURS])
    rate = small.files / moved
    note = f"{rate:.0f} files a second; the name node answers {small.calls_a_second:.0f} calls a second, of which "
    note += f"CPT takes {small.calls_a_file[OURS]:.1f} a file and DistCp {small.calls_a_file[THEIR_BEST]:.1f}"
    name, whole = f"{small.files} small files", median(small.seconds[OURS])
    return [
        Result(f"{name}: CPT of the name node's bound", rate / most, "of the bound", LEAST_OF_BOUND, "higher", note),
        Result(
            f"{name}: DistCp at its best over CPT, without T_0",
            without / moved,
            "x",
            LEAST_RATIO,
            "higher",
            f"{without:.1f} s, {moved:.1f} s",
        ),
        Result(f"{name}: the same, whole", theirs / whole, "x", note=f"{theirs:.1f} s, {whole:.1f} s"),
    ]


def calls_a_second(hadoop: HadoopCluster) -> float:
    """How many changes and looks the name node answers in a second, asked by 16 threads of its own machine."""
    runtime = with_classes(prepare(), CALLS)
    machine = hadoop.name_node.machine
    command = runtime.command(PROGRAM, hadoop.conf, machine.temporary, heap_mb=256, quick=False)
    done = subprocess.run(
        [*machine.prefix, *command, "/calls", str(THREADS), str(ROUNDS)],
        env=dict(machine.environment),
        cwd=machine.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"{PROGRAM}: {done.stderr.strip()[-1000:]}")
    calls, nanoseconds = map(int, done.stdout.split())
    return calls / (nanoseconds / 1e9)


def _put(site: Site, files: int) -> None:
    local = site.account.work / "small"
    for number in range(files):
        path = local / f"folder-{number // FOLDER_FILES:03}" / f"file-{number % FOLDER_FILES:02}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(number.to_bytes(4, "big") * (FILE_BYTES // 4))
    hadoop = site.source.hadoop
    hadoop.shell("-put", "-t", PUT_THREADS, str(local), "/in/small")
    hadoop.shell("-chown", "-R", USER, "/in/small")


def _answered(hadoop: HadoopCluster) -> float:
    """Calls that the name node has answered so far."""
    machine = hadoop.name_node.machine
    said = jmx.named(machine, "NameNode", f"RpcActivityForPort{machine.ports[0]}")
    if said is None:
        raise BenchError("the name node does not say how many calls it has answered")
    return float(said["RpcProcessingTimeNumOps"])
