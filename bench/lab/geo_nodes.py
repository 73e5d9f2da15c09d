"""GEO-DMS' Figures 5, 6 and 7: how many nodes, how much of each, and what it is worth to look at them meanwhile.

Nodes stand in the source's datacenter and send straight to the destination; the source sends, too, so that n nodes are
the source and n - 1 relays. Small VMs exchange 12.5 MB/s with other datacenters. Sizes and times are 1:5.
"""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from math import inf

from bench.data_plane import files
from bench.data_plane.network import Node, command
from bench.lab import staged, wan
from bench.lab.experiment import Experiment, Figure, Found, Lab
from bench.lab.record import Claim
from bench.plots import BLACK, BLUE, COLOURS, GREEN, ORANGE, Curve, Panel, Plot
from bench.results import Result, say
from local.caps import Caps
from local.instances.shaping import change_commands

SMALL_MB_S, INSIDE_MB_S = 12.5, 100.0
SCALE = 5
GB = 1_000_000_000
SHARES = (0.25, 0.5, 1.0)
"""Intr: of a VM's bandwidth."""
NODES, MOST_NODES = (1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 6, 8, 10)
HOUR_USD, GB_USD = 0.06, 0.12
"""Azure's in 2013 for a small VM, and for what leaves; the paper prints neither."""
AWARE_GB, AWARE_NODES = (0.25, 0.5, 1.0), 5
DROPS_AT, DROPS_TO = 0.25, 0.4
"""A node has so much left of its bandwidth after a quarter of the time that all would need together."""


def by_share(lab: Lab) -> Mapping[str, Found]:
    """Figures 5 and 6 plot the same runs with whole VMs."""
    shares, few, many = (SHARES[1:], NODES[:2], NODES[:2]) if lab.smoke else (SHARES, NODES, MOST_NODES)
    source = lab.bench.folder("source")
    files.large(source, GB // SCALE // (40 if lab.smoke else 1))
    seconds: dict[tuple[float, int], float] = {}
    for share in shares:
        numbers = many if share == 1 else few
        with wan.regions(SMALL_MB_S * share, INSIDE_MB_S, max(max(numbers) - 1, 1)) as (ends, pairs):
            relays = [(near,) for near, _ in pairs]
            for n in numbers:
                with lab.cell(f"Intr {share:g}, n = {n}"):
                    seconds[share, n] = SCALE * wan.as_cpt(lab.bench, source, ends, relays[: n - 1], 0.0)
                say(f"  Intr {share:g}, n = {n}: {seconds[share, n]:.0f} s of the paper's")
    return {"geo-5": _five(seconds, lab), "geo-6": _six(seconds, lab)}


def _five(seconds: Mapping[tuple[float, int], float], lab: Lab) -> Found:
    shares = sorted({share for share, _ in seconds})
    rows = [Result(f"Intr {share:g}, n = {n}", value, "s") for (share, n), value in seconds.items()]
    most = max(n for share, n in seconds if share == shares[0])
    falls = max(seconds[more, n] / seconds[less, n] for less, more in pairwise(shares) for n in NODES[:most])
    rows.append(Result("time with more of each VM over less, worst", falls, "x"))
    gain = {share: seconds[share, 1] / seconds[share, most] / most for share in shares}
    rows += [Result(f"Intr {share:g}: speedup with {most} nodes over {most}", one, "") for share, one in gain.items()]
    rows.append(Result("speedup over nodes, mean", sum(gain.values()) / len(gain), ""))
    curves = [
        Curve(f"Intr {share:g}", list(NODES[:most]), [seconds[share, n] for n in NODES[:most]], colour, "o-")
        for share, colour in zip(shares, COLOURS, strict=False)
    ]
    plot = Plot("5", "1 GB, 1 to 5 VMs, by what each may use", [Panel("", "nodes", "seconds", curves)], CAPTION)
    return Found(rows, [plot], "", lab.invalid)


def _six(seconds: Mapping[tuple[float, int], float], lab: Lab) -> Found:
    whole = {n: value for (share, n), value in seconds.items() if share == 1}
    usd = {n: n * value / 3600 * HOUR_USD + GB_USD for n, value in whole.items()}
    machines = {n: n * value / 3600 * HOUR_USD for n, value in whole.items()}
    rows = [Result(f"n = {n}", value, "s", note=f"${usd[n]:.4f}, VMs ${machines[n]:.5f}") for n, value in whole.items()]
    if 5 in whole:
        rows.append(Result("VMs' cost with 5 over 3", machines[5] / machines[3], "x"))
    best = min(whole, key=lambda n: whole[n] * machines[n])
    rows.append(Result("nodes with the least time times VMs' cost", best, "nodes"))
    numbers = list(whole)
    panels = [
        Panel("time", "nodes", "seconds", [Curve("1 GB", numbers, list(whole.values()), BLUE, "o-")]),
        Panel("cost", "nodes", "dollars", [Curve("VMs", numbers, list(machines.values()), ORANGE, "o-")]),
    ]
    return Found(rows, [Plot("6", "Time and cost by the number of VMs", panels, CAPTION)], NOTE, lab.invalid)


EQUAL, AWARE, UNDISTURBED = "equal shares", "CPT", "CPT, nothing drops"


class Drop:
    """One relay that loses most of its bandwidth at a moment; a new one has all of it."""

    def __init__(self, relay: Node, second: float) -> None:
        self._relay, self._second, self._done = relay, second, False
        self._hold(1.0)

    def __call__(self, age: float) -> None:
        """Told the age of the transfer."""
        if not self._done and age >= self._second:
            self._done = True
            self._hold(DROPS_TO)

    def _hold(self, share: float) -> None:
        for line in change_commands(Caps.of(SMALL_MB_S * share, INSIDE_MB_S), "eth0"):
            command("tc", "-n", self._relay.namespace, *line)


def aware(lab: Lab) -> Mapping[str, Found]:
    """Figure 7: one node loses most of its bandwidth on the way."""
    sizes = AWARE_GB[:1] if lab.smoke else AWARE_GB
    rows: list[Result] = []
    times: dict[str, list[float]] = {EQUAL: [], AWARE: [], UNDISTURBED: []}
    for size in sizes:
        source = lab.bench.folder("source")
        files.large(source, int(size * GB) // SCALE)
        drops = DROPS_AT * size * 1000 / SCALE / (AWARE_NODES * SMALL_MB_S)
        with wan.regions(SMALL_MB_S, INSIDE_MB_S, AWARE_NODES) as (ends, pairs):
            relays = [(near,) for near, _ in pairs]
            # Chunks so small that to store one before it is passed on costs nothing.
            equal = partial(staged.move, lab.bench, source, ends, relays, chunks=40 * AWARE_NODES, hold=1, after=0.0)
            ours = partial(wan.as_cpt, lab.bench, source, ends, relays, 0.0, direct=False)
            for name, move, at in ((EQUAL, equal, drops), (AWARE, ours, drops), (UNDISTURBED, ours, inf)):
                with lab.cell(f"{size:g} GB, {name}"):
                    times[name].append(SCALE * move(each=Drop(relays[0][0], at)))
                rows.append(Result(f"{size:g} GB: {name}", times[name][-1], "s"))
        rows.append(Result(f"{size:g} GB: saved", 100 * (1 - times[AWARE][-1] / times[EQUAL][-1]), "%"))
    curves = [
        Curve(name, list(sizes), ys, colour, "o-")
        for (name, ys), colour in zip(times.items(), (BLACK, GREEN, BLUE), strict=True)
    ]
    plot = Plot("7", "One of five nodes slows down", [Panel("", "GB", "seconds", curves)], CAPTION)
    return {"geo-7": Found(rows, [plot], NOTE_SEVEN, lab.invalid)}


CAPTION = (
    "Real bytes at 1:5 in size and time, on the paper's scale: 12.5 MB/s a VM between datacenters, 100 MB/s inside."
)
NOTE = "The paper calls the most time saved for the least cost best, without a formula; ours is the least product."
NOTE_SEVEN = (
    "Equal shares: the source gives each of five nodes a fifth, whatever they do. CPT has these five, without a direct "
    "path. One node keeps 40 % of its bandwidth after a quarter of the time."
)
EXPERIMENTS = (
    Experiment(
        [
            Figure(
                "geo-5",
                "GEO",
                "1 GB with 1 to 5 VMs, of each of which a share may be used",
                [
                    Claim(
                        text="time falls with what may be used",
                        row="time with more of each VM over less, worst",
                        most=1,
                    ),
                    Claim(text="more nodes help less than in proportion", row="speedup over nodes, mean", most=0.97),
                ],
            ),
            Figure(
                "geo-6",
                "GEO",
                "Time and cost of 1 GB with 1 to 10 VMs",
                [
                    Claim(text="cost hardly grows from 3 to 5 VMs", row="VMs' cost with 5 over 3", most=1.1),
                    Claim(text="6 VMs are best", row="nodes with the least time times VMs' cost", least=5, most=7),
                ],
            ),
        ],
        by_share,
        minutes=8,
    ),
    Experiment(
        [
            Figure(
                "geo-7",
                "GEO",
                "A parallel transfer that looks at its nodes, and one that does not",
                [
                    Claim(
                        text="saves up to 20 % of large transfers",
                        row="1 GB: saved",
                        least=15,
                        only_if="a node loses more than half of its bandwidth on the way",
                    )
                ],
            )
        ],
        aware,
        minutes=4,
    ),
)
