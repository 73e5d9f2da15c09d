"""CPU of sender, receiver and relay while the sender has no path: user and system time over ten seconds, of one core.

0 % means at most 0.5 %: looking at the membership twice a second and at the fence every two is no busy loop.
"""

import json
import time

from bench.data_plane import files
from bench.data_plane.bench import Bench
from bench.data_plane.network import network
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.process import until
from bench.results import Result

NODES = {"sender": "10.0.0.1", "near": "10.0.0.2", "far": "10.1.0.2", "receiver": "10.1.0.1"}
NO_PATHS = {"schemaVersion": 1, "version": 0, "paths": [], "probes": []}
BAR = 0.5


def run(bench: Bench) -> list[Result]:
    """Per cent of one core of each process."""
    source = bench.folder("source")
    files.large(source, 1 << 20)
    ours = Transfer(bench, source)
    with network(NODES) as net:
        relayed = Route(net["sender"], net["receiver"], [(net["near"], net["far"])], direct=False)
        nowhere = Route(net["sender"], net["receiver"], direct=False)
        control = ours.plan(1)
        records = control / "records"
        (records / "membership.json").write_text(json.dumps(NO_PATHS))
        with (
            ours.receiver(control, bench.folder("arrived"), relayed) as receiver,
            ours.relays(control, relayed) as relays,
            ours.sender(control, nowhere) as sender,
        ):
            programs = {"sender": sender, "receiver": receiver, **relays}
            waiting = [records / "progress-s0.json", records / "progress-r0.json"]
            waiting += [control / f"{name}.ready" for name in relays]
            until(lambda: all(path.exists() for path in waiting), "everybody waits", list(programs.values()))
            before = {name: program.cpu_seconds() for name, program in programs.items()}
            begun = time.monotonic()
            time.sleep(bench.size(10, 2))
            used = {name: program.cpu_seconds() - before[name] for name, program in programs.items()}
            seconds = time.monotonic() - begun
            for program in programs.values():
                program.check()
    return [Result(f"idle, {name}", cpu / seconds * 100, "% of a core", BAR) for name, cpu in used.items()]
