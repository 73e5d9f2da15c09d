"""GREEN's sweep over a link of a city, and over one inside a host: streams by windows, and what is recommended.

The thesis' link had 1 Gbit/s and 40 km of fibre with five to seven hops. Here it is 1:5: 25 MB/s, files of 20 MB, and
windows a fifth of the thesis'; the round trip, which it does not print, is 5 ms.
"""

from collections.abc import Mapping
from functools import partial

from bench.data_plane.long_path import Shape, long_path
from bench.lab.experiment import Experiment, Figure, Found, Lab
from bench.lab.record import Claim
from bench.lab.sweep.__main__ import inspect
from bench.lab.sweep.plan import Combination, combinations, medians, recommended, refusal
from bench.lab.sweep.runs import Abstract, Sweep
from bench.lab.sweep.testdata import Wanted, write
from bench.lab.sweep.tools import Machines
from bench.plots import COLOURS, Curve, Panel, Plot
from bench.results import Result, say

CITY, VIRTUAL = Shape(0.005, 200), Shape(0.0004, 800, 9000)
"""The second is the link of two virtual machines on one host, with 100 MB/s: more would measure the processors."""
TOOLS = ("cpt", "channels", "gridftp", "iperf3")
STREAMS = (1, 4, 16, 64)
WINDOWS = tuple(32_768 << step for step in (0, 2, 4, 6))
FILE_KIB, SET_KIB = 20_000, 80_000


def measure(figure: str, shape: Shape, lab: Lab) -> Mapping[str, Found]:
    """Every combination once, but those that cannot run."""
    streams, windows, tools = (STREAMS[:1], WINDOWS[1:2], TOOLS[:2]) if lab.smoke else (STREAMS, WINDOWS, TOOLS)
    work = lab.bench.work
    wanted = Wanted(work / "green", SET_KIB // (10 if lab.smoke else 1), FILE_KIB, FILE_KIB // 10, seed=lab.seed)
    size = sum(write(wanted))
    with lab.cell("the sweep"), long_path(lab.bench, shape) as (near, far):
        machines = Machines(near.prefix, far.prefix, far.address, lab.bench.folder("shared"), sets_buffers=True)
        sweep = Sweep(machines, wanted.directory, work / "arrived", work / "sweep", "make lab", 120)
        machine = inspect(machines, tools, work)
        every = combinations(tools, streams, windows)
        refused = {one: why for one in every if (why := refusal(one, machine, size))}
        for one, why in refused.items():
            say(f"  left out: {one}: {why}")
        done = []
        for one in every:
            if one not in refused:
                done.append(sweep.run(one))
                say(f"  {one}: {done[-1].completion}, {done[-1].mb_s:.2f} MB/s {done[-1].why}")
    return {figure: found(figure, shape, done, len(refused), lab)}


def found(figure: str, shape: Shape, done: list[Abstract], refused: int, lab: Lab) -> Found:
    """Rates by tool, what streams help, and what is recommended."""
    whole = [one for one in done if one.completion == "YES"]
    rates = medians([one.ran for one in whole])
    rows = [
        Result("combinations left out before the first run", refused, ""),
        Result("runs that were not whole", len(done) - len(whole), "", 0),
    ]
    best = {}
    panels = []
    for tool in dict.fromkeys(one.tool for one in rates):
        own = {one: rate for one, rate in rates.items() if one.tool == tool}
        best[tool] = max(own.values())
        chosen = recommended(rates, tool)
        for count in sorted({one.streams for one in own}):
            most = max(rate for one, rate in own.items() if one.streams == count)
            rows.append(Result(f"{tool}: {count} streams, best window", most, "MB/s"))
        few, many = (_most(own, low, high) for low, high in ((1, 1), (16, 64)))
        if few and many:
            rows.append(Result(f"{tool}: 64 streams at most over 16", _most(own, 64, 64) / _most(own, 16, 16), "x"))
        rows.append(Result(f"{tool}: worst over best", min(own.values()) / best[tool], ""))
        note = f"{chosen.streams} streams, window {chosen.window}, {own[chosen]:.2f} MB/s"
        rows.append(Result(f"{tool}: recommended over its best", own[chosen] / best[tool], "", 0.95, "higher", note))
        panels.append(_panel(tool, own))
    for one in whole:
        ran = one.ran
        used = f"{ran.cpu_seconds_per_gb:.2f} CPU s/GB, {ran.peak_bytes / 1e6:.0f} MB"
        note = f"{used}, {ran.wh_per_tb:.0f} Wh/TB ({one.energy})"
        rows.append(Result(str(one.combination), ran.mb_s, "MB/s", note=note))
    peers = [rate for tool, rate in best.items() if tool != "cpt"]
    if "cpt" in best and peers:
        rows.append(Result("cpt's best over the others' best", best["cpt"] / max(peers), "", 0.95, "higher"))
    caption = f"{shape.mbit / 8:g} MB/s, {shape.round_trip * 1e3:g} ms, {CAPTION}"
    plot = Plot(figure.removeprefix("green-"), "Rate by window and streams", panels, caption)
    return Found(rows, [plot], NOTE, lab.invalid)


def _most(own: Mapping[Combination, float], low: int, high: int) -> float:
    return max((rate for one, rate in own.items() if low <= one.streams <= high), default=0.0)


def _panel(tool: str, own: Mapping[Combination, float]) -> Panel:
    curves = []
    for count, colour in zip(sorted({one.streams for one in own}), COLOURS, strict=False):
        points = sorted((one.window / 1024, rate) for one, rate in own.items() if one.streams == count)
        kib, rates = [point[0] for point in points], [point[1] for point in points]
        curves.append(Curve(f"{count} streams", kib, rates, colour, "o-"))
    return Panel(tool, "window, KiB", "MB/s", curves, x_log=True)


CAPTION = (
    "25 MB/s, 5 ms, four files of 20 MB. iperf3 and GridFTP ask for windows; the others have TCP's largest buffers."
)
NOTE = (
    "bbcp, FDT and BBFTP are in no package of Debian's, so that BBFTP's fall and its gain with files of 2.2 GB are not "
    "measured. FTS3 schedules transfers of GridFTP and moves no bytes itself. Without RAPL, energy is 30 W a machine."
)

CHANNELS = "files are moved by channels of our own: BBCP and FDT could not be had"
EXPERIMENTS = (
    Experiment(
        [
            Figure(
                "green-4.1.7",
                "GREEN",
                "Sweep of streams and windows over a link of a city",
                [
                    Claim(
                        text="streams help up to a point, then nothing",
                        row="channels: 64 streams at most over 16",
                        most=1.05,
                        only_if=CHANNELS,
                    )
                ],
            )
        ],
        partial(measure, "green-4.1.7", CITY),
        minutes=12,
    ),
    Experiment(
        [
            Figure(
                "green-4.1.4",
                "GREEN",
                "The same between two virtual machines of one host, from memory",
                [
                    Claim(
                        text="streams and windows change little",
                        row="channels: worst over best",
                        least=0.8,
                        only_if=CHANNELS,
                    )
                ],
            )
        ],
        partial(measure, "green-4.1.4", VIRTUAL),
        minutes=6,
    ),
)
