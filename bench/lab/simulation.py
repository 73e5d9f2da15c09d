"""RCD's nine cells as a seeded simulation, with Falcon's gradient and Xet's controller beside, and CPT's own code.

It moves no bytes: its rows stand beside those of the cells, and never in their place. Nothing is scaled here.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from random import Random

from bench.lab.controllers import Controller, Falcon, Fixed, Pcp, Xet, sender
from bench.lab.experiment import Experiment, Figure, Found, Lab
from bench.lab.lanes import STEP, Flow, Network, Path
from bench.lab.testbeds import MB, SETS, TESTBEDS, Testbed
from bench.lab.tuning import globus, mc, pcp
from bench.plots import COLOURS, Curve, Panel, Plot
from bench.results import Result, say

TOTAL_GB = 15
COUNTS = (1, 2, 4, 8, 16, 32, 64)
CHUNK_SECONDS = 10.0
MOST_SECONDS = 600.0
WIDENING = Path([(0.0, 50.0), (20.0, 300.0)], 0.1, 4 << 20, 300 * MB * 0.1)
SHARED = Path([(0.0, 50.0)], 0.05, 4 << 20, 50 * MB * 0.05)


@dataclass(frozen=True)
class Side:
    """A controller, made anew for each run, and bytes under way that the files allow a stream."""

    controller: Callable[[Path], AbstractContextManager[Controller]]
    most: float = float("inf")


def sizes(kind: str, random: Random) -> list[int]:
    """Files of a set of the paper."""
    least, most = (int(size * MB) for size in SETS[kind])
    found: list[int] = []
    while sum(found) < TOTAL_GB * 1e9:
        found += [random.randint(least, most) for _ in range(max(1, int(1e9 / most)))]
    return found


def path_of(testbed: Testbed) -> Path:
    """A network of the paper."""
    queue = testbed.line * MB * testbed.round_trip
    return Path([(0.0, testbed.line)], testbed.round_trip, testbed.send_buffer, queue)


def sides(testbed: Testbed, files: Sequence[int], lab: Lab) -> dict[str, Side]:
    """Everybody who moves a set."""
    bdp, mean = testbed.link * MB * testbed.round_trip, sum(files) / len(files)
    classes = mc(files, bdp, testbed.send_buffer)
    [phase, *_] = pcp(files, bdp)
    pipelining = phase.chunks[0].setting.pipelining
    static = globus(files)

    def always(one: Controller) -> Callable[[Path], AbstractContextManager[Controller]]:
        return lambda _: nullcontext(one)

    channels = sum(one.setting.concurrency * one.setting.parallelism for one in classes)
    found = {
        "MC": Side(always(Fixed(min(channels, 256)))),
        "PCP": Side(lambda _: nullcontext(Pcp(phase.begins, CHUNK_SECONDS)), (pipelining + 1) * mean),
        "Globus' settings": Side(
            always(Fixed(static.concurrency * static.parallelism)), (static.pipelining + 1) * mean / static.parallelism
        ),
        "Falcon": Side(lambda _: nullcontext(Falcon())),
        "Xet": Side(lambda _: nullcontext(Xet())),
        "CPT": Side(lambda path: sender(lab.bench.daemon, path)),
    }
    return found | {f"{count} streams": Side(always(Fixed(count))) for count in COUNTS}


def seconds(path: Path, side: Side, total: float, seed: int) -> float:
    """Until so many bytes are moved."""
    flow = Flow()
    network = Network(path, [flow], Random(seed))
    with side.controller(path) as controller:
        flow.set(controller.look(0.0, flow), side.most)
        while flow.moved < total and network.now < MOST_SECONDS:
            network.step()
            flow.set(controller.look(network.now, flow), side.most)
    return network.now * total / max(flow.moved, 1.0) if flow.moved < total else network.now


def measure(lab: Lab) -> Mapping[str, Found]:
    """Nine cells, a path that becomes wider, and two transfers on one path."""
    cells = [(testbed, kind) for testbed in TESTBEDS for kind in SETS]
    total = (0.2 if lab.smoke else TOTAL_GB) * 1e9
    rows: list[Result] = []
    rates: dict[str, list[float]] = {}
    for letter, (testbed, kind) in zip("abcdefghi", cells[: 1 if lab.smoke else 9], strict=False):
        path, files = path_of(testbed), sizes(kind, lab.random)
        of_cell = {
            name: total / MB / seconds(path, side, total, lab.seed) for name, side in sides(testbed, files, lab).items()
        }
        for name, rate in of_cell.items():
            rates.setdefault(name, []).append(rate * 8)
        best = max(of_cell, key=of_cell.__getitem__)
        note = f"best {best}: " + ", ".join(f"{name} {rate * 8:.0f}" for name, rate in of_cell.items())
        say(f"  {letter}: {note}")
        case = f"18{letter}, {testbed.name}, {kind}"
        rows.append(Result(f"{case}: CPT over the best", of_cell["CPT"] / of_cell[best], "", 0.98, "higher", note))
        rows.append(Result(f"{case}: CPT over Falcon", of_cell["CPT"] / of_cell["Falcon"], "", 0.98, "higher"))
    rows += [_widening(lab), _two(lab)]
    shown = [name for name in rates if not name.endswith("streams")]
    places = list(range(len(next(iter(rates.values())))))
    curves = [Curve(name, places, rates[name], COLOURS[n % len(COLOURS)], "o-") for n, name in enumerate(shown)]
    plot = Plot("18, simulated", "Nine cells", [Panel("", "cell a to i", "Mbit/s", curves)], CAPTION)
    return {"rcd-18-simulated": Found(rows, [plot], CAPTION)}


CAPTION = (
    "A flow that is computed in steps of 20 ms: slow start, CUBIC, half of the buffer under way, a queue of one BDP. "
    "15 GB. CPT is the sender's own code, asked every 0.1 s; MC's channels all carry to the end."
)


def _widening(lab: Lab) -> Result:
    flow = Flow()
    network = Network(WIDENING, [flow], lab.random)
    at = {}
    with sender(lab.bench.daemon, WIDENING) as controller:
        for number in range(int(40 / STEP)):
            flow.set(controller.look(network.now, flow))
            network.step()
            at[number] = flow.moved
    rate = (at[int(40 / STEP) - 1] - at[int(30 / STEP)]) / 10 / MB
    note = f"{rate:.0f} of 300 MB/s from 10 s after; {len(flow.streams)} lanes"
    return Result("50 MB/s that become 300 after 20 s: rate over the path", rate / 300, "", 0.95, "higher", note)


def _two(lab: Lab) -> Result:
    flows = [Flow(), Flow()]
    network = Network(SHARED, flows, lab.random)
    with sender(lab.bench.daemon, SHARED) as one, sender(lab.bench.daemon, SHARED) as other:
        while network.now < 60:
            for flow, controller in zip(flows, (one, other), strict=True):
                flow.set(controller.look(network.now, flow))
            network.step()
    a, b = (flow.moved for flow in flows)
    return Result("two transfers on one path: Jain's index", (a + b) ** 2 / (2 * (a * a + b * b)), "", 0.95, "higher")


EXPERIMENT = Experiment(
    [Figure("rcd-18-simulated", "RCD", "The nine cells simulated, with Falcon's gradient and Xet's controller")],
    measure,
    minutes=6,
    isolated=False,
)
