"""Small files on a shared file system of which every call takes its time: several machines at each end beside one.

Each machine is a mount namespace with a client of its own (`cpt-shared-files`), and a daemon in it. What is timed
begins with the senders and ends with the word of the one that finishes: listing and plan come before.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from bench.data_plane import files
from bench.data_plane.process import BenchError, Program, running, until
from bench.results import Result, say

PROGRAMS = Path("relay-ami/relay/target/release").resolve()
COUNT, SIZE = 20_000, 10 << 10
"""Files, and bytes of each."""
CALL_MILLISECONDS = 20
# For so long a client of NFS believes what it was told of names and attributes (`acregmin`).
STALE_SECONDS = 3
# As many as it has under way in a session.
CALLS_AT_ONCE = 64
MACHINES = 4
LEAST_RATIO, MOST_BUSY = 3.5, 0.70
# As the plan cuts 200 MB that leave the region: 1 024 chunks at most.
LANES, CHUNK_KIB, RANGE_SIZE = 4, 256, 4
TIMEOUT = 5_000.0


class Machine:
    """A namespace in which a directory is seen by a client of its own."""

    def __init__(self, backing: Path, mount: Path) -> None:
        client = [str(PROGRAMS / "cpt-shared-files"), str(backing), str(mount), "shared", str(CALLS_AT_ONCE)]
        self._client = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", *client],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._client.stdin is None or self._client.stdout is None or self._client.stdout.readline() != "ready\n":
            raise BenchError(f"{mount} is not mounted")
        self._switches, self._answers = self._client.stdin, self._client.stdout

    @property
    def pid(self) -> int:
        """Of the client."""
        return self._client.pid

    def tell(self, switch: str) -> None:
        """Change how the client serves; raises BenchError where it does not take that."""
        print(switch, file=self._switches, flush=True)
        if (said := self._answers.readline()) != "ok\n":
            raise BenchError(f"{switch}: {said}")

    def argv(self, *words: str) -> list[str]:
        """A call of the daemon's roles by hand, in this namespace."""
        return ["nsenter", "--mount", "--target", str(self.pid), str(PROGRAMS / "cpt-laboratory"), *words]

    def end(self) -> None:
        """Unmount."""
        self._switches.close()
        self._client.wait(20)


@contextmanager
def machines(count: int, backing: Path, mount: Path) -> Iterator[list[Machine]]:
    """So many, which see one directory at one place."""
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            made.append(Machine(backing, mount))
            stack.callback(made[-1].end)
        yield made


def small_files(work: Path, count: int = COUNT) -> list[Result]:
    """Four machines at each end beside one: rate over rate, and how busy the processors are with four."""
    source = work / "source"
    source.mkdir()
    files.small(source, count, SIZE)
    alone, _ = _moved(work, source, 1)
    together, busy = _moved(work, source, MACHINES)
    note = f"{count:,} files in {alone:.1f} s with one machine at each end, {together:.1f} s with {MACHINES}"
    return [
        Result(f"{MACHINES} + {MACHINES} machines / 1 + 1", alone / together, "", LEAST_RATIO, "higher", note),
        Result(
            f"{MACHINES} + {MACHINES}: processors busy", busy, "of all", MOST_BUSY, "lower", "by daemons and clients"
        ),
    ]


def _moved(work: Path, source: Path, count: int) -> tuple[float, float]:
    """Seconds, and which part of all processors' time daemons and clients have used."""
    home = work / f"of-{count}"
    control, here, there, arrived = (home / name for name in ("control", "here", "there", "arrived"))
    for folder in (control, here, there, arrived):
        folder.mkdir(parents=True)
    with machines(count, source, here) as senders, machines(count, arrived, there) as receivers, ExitStack() as stack:
        common = ["--control-dir", str(control), "--range-size", str(RANGE_SIZE)]
        plan = ["plan", *common, "--chunk-kib", str(CHUNK_KIB), "--lanes", str(LANES), f"{here}/"]
        stack.enter_context(running(senders[0].argv(*plan), home / "plan.log")).wait(TIMEOUT)
        several = ["--many-senders", "--many-receivers"] if count > 1 else []
        for machine in (*senders, *receivers):
            machine.tell(f"stale {STALE_SECONDS}")
            machine.tell(f"slow {CALL_MILLISECONDS}")
        received = []
        for number, machine in enumerate(receivers):
            ready = home / f"r{number}.ready"
            options = ["--listen", "127.0.0.1:0", "--seat", f"r{number}", "--ready", str(ready), *several]
            argv = machine.argv("receive", *common, *options, str(there))
            received.append(stack.enter_context(running(argv, home / f"r{number}.log")))
            until(partial(_is_ready, ready), f"r{number}", received, TIMEOUT)
        _lay_out(control, count)
        begun, sent = time.monotonic(), []
        for number, machine in enumerate(senders):
            options = ["--seat", f"s{number}", "--route-key", str(home / f"s{number}.key"), *several]
            sent.append(stack.enter_context(running(machine.argv("send", *common, *options), home / f"s{number}.log")))
        _until_one_has_ended(sent, received)
        seconds = time.monotonic() - begun
        pids = [program.pid for program in (*sent, *received)] + [machine.pid for machine in (*senders, *receivers)]
        used = sum(_cpu_seconds(pid) for pid in pids)
        for program in (*sent, *received):
            program.stop()
    if files.digests(source) != files.digests(arrived):
        raise BenchError("what arrived is not what was sent")
    busy = used / seconds / (os.cpu_count() or 1)
    say(f"  {count} + {count} machines: {seconds:.1f} s, processors {busy:.0%} busy")
    return seconds, busy


def _is_ready(file: Path) -> bool:
    return file.exists() and file.read_text().endswith("\n")


def _lay_out(control: Path, count: int) -> None:
    """The membership, as the control plane writes it: path k joins sender k and receiver k."""
    paths = []
    for number in range(count):
        key = json.loads((control / "records" / f"key-r{number}.json").read_text())
        name, seats = (
            ("direct", {}) if number == 0 else (f"direct-{number}", {"from": f"s{number}", "to": f"r{number}"})
        )
        path = {"pathId": name, "generation": 0, "hops": [], "receiver": key["address"], "lanes": LANES, **seats}
        paths.append(path)
    document = {"schemaVersion": 1, "version": 1, "paths": paths, "probes": []}
    (control / "records" / "membership.json").write_text(json.dumps(document))


def _until_one_has_ended(sent: Sequence[Program], received: Sequence[Program]) -> None:
    """The one that finishes has told that all arrived; raises BenchError where a machine ends without that."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        # What is seen once decides: another look at the same program may come after its end.
        for program in (*sent, *received):
            ended = os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None and (ended.si_code, ended.si_status) != (os.CLD_EXITED, 0):
                program.check()
            if ended is not None and program in sent:
                return
        if time.monotonic() > deadline:
            raise BenchError("not moved in time: " + "\n".join(program.tail() for program in (*sent, *received)))
        time.sleep(0.01)


def _cpu_seconds(pid: int) -> float:
    """What a program has used since its start, also one that has ended and was not waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
