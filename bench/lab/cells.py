"""RCD's Figures 18 a to i: three networks, three sets of files, and what moves them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.data_plane.bench import Bench
from bench.data_plane.network import Node
from bench.data_plane.ours import Route, Transfer
from bench.data_plane.peers.programs import have
from bench.lab import peers
from bench.lab.experiment import Experiment, Figure, Found, Lab
from bench.lab.record import Claim
from bench.lab.testbeds import MB, SETS, TESTBEDS, Testbed, network, write
from bench.lab.tuning import globus
from bench.plots import COLOURS, Curve, Panel, Plot
from bench.results import Result, say
from lambdas.core.chunks.plan import chunk_size, lanes_per_path, lanes_to_plan_for

SECONDS = 20
"""That the line needs for a set. The paper's 10 to 20 GB need about 100 s on 1 Gbit/s: so PCP's chunks are shorter."""
CHUNK_SECONDS = 2.0
ONE_BY_ONE, EACH = "one by one", 8


def as_cpt(bench: Bench, source: Path, ends: tuple[Node, Node], scale: float) -> float:
    """CPT as it is, with the chunks that its planner would make of the unscaled set; listing and plan count."""
    sizes = [path.stat().st_size for path in source.iterdir()]
    whole = int(sum(sizes) * scale)
    lanes = lanes_per_path(0, whole, len(sizes))
    chunk = int(chunk_size(whole, lanes_to_plan_for(lanes, 1, between_regions=True), None) / scale) >> 10
    transfer = Transfer(bench, source, between_regions=True, lanes=lanes, chunk_kib=1 << chunk.bit_length() - 1)
    moved = transfer.move(Route(*ends))
    transfer.check_arrived()
    say(f"    CPT: {moved.lanes} lanes, planned in {moved.planned_seconds:.2f} s")
    return moved.planned_seconds + moved.seconds


def measure(testbed: Testbed, kind: str, figure: str, lab: Lab) -> Mapping[str, Found]:
    """One cell: everything moves the same set, one after the other."""
    source = lab.bench.folder("source")
    size = testbed.rate * MB * (0.25 if lab.smoke else SECONDS)
    count = write(source, testbed, kind, size, lab.random)
    size = sum(path.stat().st_size for path in source.iterdir())
    say(
        f"  {count} files, {size / 1e6:.0f} MB; BDP {testbed.bdp / 1e6:.2f} MB, {testbed.rate:.1f} MB/s, "
        f"{testbed.round_trip * 1e3:.0f} ms"
    )
    given = {
        "bdp": testbed.bdp,
        "buffer": testbed.send_buffer / testbed.scale,
        "scale": testbed.scale,
        "chunk_seconds": CHUNK_SECONDS,
    }
    rates: dict[str, float] = {}
    chunks: dict[str, list[dict[str, Any]]] = {}
    with lab.cell(f"{figure}"), network(lab, testbed) as ends:

        def by_policy(name: str) -> float:
            found = peers.policy(lab.bench, source, ends, name, given)
            chunks[name] = found["chunks"]
            return float(found["seconds"])

        sides: dict[str, Callable[[], float]] = {
            "MC": partial(by_policy, "mc"),
            "PCP": partial(by_policy, "pcp"),
            "RCD": partial(by_policy, "rcd"),
            "Globus' settings": partial(by_policy, "globus"),
            "CPT": partial(as_cpt, lab.bench, source, ends, testbed.scale),
        }
        if not lab.smoke and have("globus-url-copy"):
            setting = globus([path.stat().st_size for path in source.iterdir()], testbed.scale)
            sides["GridFTP"] = partial(peers.gridftp, lab.bench, source, ends, setting)
        if not lab.smoke and peers.build_udt():
            sides["UDT"] = partial(peers.udt, lab.bench, source, ends)
        if kind == "small":
            sides[ONE_BY_ONE] = partial(one_by_one, lab, source, ends)
        for name, side in sides.items():
            lab.bench.warm()
            rates[name] = size / 1e6 / side() * testbed.scale * 8
            say(f"    {name}: {rates[name]:.0f} Mbit/s of the paper's")
    return {figure: found(testbed, kind, figure, rates, chunks, lab)}


def one_by_one(lab: Lab, source: Path, ends: tuple[Node, Node]) -> float:
    """Seconds that the whole set would take without pipelining, by a part of it: it takes too long."""
    some = lab.bench.folder("some")
    for path in sorted(source.iterdir())[::EACH]:
        (some / path.name).hardlink_to(path)
    seconds = float(peers.policy(lab.bench, some, ends, "plain", {})["seconds"])
    whole, part = (sum(path.stat().st_size for path in place.iterdir()) for place in (source, some))
    return seconds * whole / part


def found(
    testbed: Testbed,
    kind: str,
    figure: str,
    rates: Mapping[str, float],
    chunks: Mapping[str, Sequence[Mapping[str, Any]]],
    lab: Lab,
) -> Found:
    """Rows of a cell."""
    last = chunks["pcp"][-1]
    last_rate = last["bytes"] / last["seconds"] / 1e6 * testbed.scale * 8
    theirs = {name: rate for name, rate in rates.items() if name != "CPT"}
    best = max(theirs, key=theirs.__getitem__)
    steps = [
        Result(
            f"PCP, chunk {number}",
            chunk["bytes"] / chunk["seconds"] / 1e6 * testbed.scale * 8,
            "Mbit/s",
            note=f"{chunk['files']} files, {chunk['bytes'] / 1e6:.1f} MB, {setting(chunk)}",
        )
        for number, chunk in enumerate(chunks["pcp"], 1)
    ]
    rows = [
        *(
            Result(name, rate, "Mbit/s", note=settings(chunks.get(KEYS.get(name, ""), [])))
            for name, rate in rates.items()
        ),
        Result("PCP's last chunk over its mean", last_rate / rates["PCP"], "x"),
        Result("MC over PCP", rates["MC"] / rates["PCP"], "x"),
        Result("PCP over Globus' settings", rates["PCP"] / rates["Globus' settings"], "x"),
        Result("MC over Globus' settings", rates["MC"] / rates["Globus' settings"], "x"),
        *(
            [Result("RCD over one by one", rates["RCD"] / rates[ONE_BY_ONE], "x", 5, "higher")]
            if kind == "small"
            else []
        ),
        Result("best over the line", max(rates.values()) / (testbed.line * 8), "x"),
        Result(
            "CPT over the best of the others", rates["CPT"] / theirs[best], "x", 0.95, "higher", f"the best is {best}"
        ),
        Result("CPT over MC", rates["CPT"] / rates["MC"], "x", 0.95, "higher"),
        *steps,
    ]
    names = list(rates)
    bars = [
        Curve(name, [0, rates[name]], [place, place], COLOURS[place % len(COLOURS)], "-", 9)
        for place, name in enumerate(names)
    ]
    caption = (
        f"Real bytes at 1:{testbed.scale:g}: {testbed.rate:.3g} MB/s, {testbed.round_trip * 1e3:.0f} ms, files of "
        f"{SETS[kind][0] / testbed.scale * 1e3:.3g} to {SETS[kind][1] / testbed.scale * 1e3:.4g} kB; rates on the "
        "paper's scale."
    )
    plot = Plot(
        figure.removeprefix("rcd-"), f"{testbed.name}, {kind} files", [Panel("", "Mbit/s", "", bars, names)], caption
    )
    return Found(rows, [plot], NOTE, lab.invalid)


KEYS = {"MC": "mc", "PCP": "pcp", "RCD": "rcd", "Globus' settings": "globus"}
NOTE = (
    "Policies and GridFTP move bytes in the clear and sync nothing; CPT encrypts, proves and syncs, and its listing "
    "and plan count. "
    "UDT is one connection of libudt, file after file."
)


def setting(chunk: Mapping[str, Any]) -> str:
    """Words."""
    return f"pp {chunk['pipelining']}, p {chunk['parallelism']}, cc {chunk['concurrency']}"


def settings(chunks: Sequence[Mapping[str, Any]]) -> str:
    """Of all chunks, in few words."""
    return "; ".join(dict.fromkeys(setting(chunk) for chunk in chunks))


GLOBUS, LAST, MC_PCP = "PCP over Globus' settings", "PCP's last chunk over its mean", "MC over PCP"
CLAIMS: Mapping[str, Sequence[Claim]] = {
    "a": (
        Claim(text="MC is best", row=MC_PCP, least=1),
        Claim(text="PCP's last chunk is the fastest", row=LAST, least=1),
        Claim(text="Globus is poor", row="MC over Globus' settings", least=1.5),
    ),
    "b": (
        Claim(text="MC is about Globus", row="MC over Globus' settings", least=0.85, most=1.15),
        Claim(text="PCP's last chunk is as fast", row=LAST, least=1),
    ),
    "c": (
        Claim(text="Globus and MC fill the line", row="MC over Globus' settings", least=0.9, most=1.1),
        Claim(text="the line is full", row="best over the line", least=0.9),
        Claim(text="PCP's last two chunks are as fast", row=LAST, least=1),
    ),
    "d": (
        Claim(text="PCP beats Globus", row=GLOBUS, least=1),
        Claim(text="MC is best with PCP", row=MC_PCP, least=0.95),
        Claim(text="PCP's last chunk is the fastest", row=LAST, least=1),
    ),
    "e": (
        Claim(text="MC is best", row=MC_PCP, least=1),
        Claim(text="Globus is behind PCP", row=GLOBUS, least=1),
    ),
    "f": (
        Claim(text="PCP and MC reach the disk's limit", row="best over the line", least=0.9),
        Claim(text="MC about as PCP", row=MC_PCP, least=0.9, most=1.3),
    ),
    "g": (
        Claim(text="MC is best", row=MC_PCP, least=1),
        Claim(text="PCP's mean 500 against Globus' 390 Mbit/s", row=GLOBUS, least=1.15, most=1.45),
        Claim(text="PCP's last chunk 850 against its mean of 500", row=LAST, least=1.5),
    ),
    "h": (
        Claim(text="MC is best", row="MC over Globus' settings", least=1),
        Claim(text="Globus is above PCP's mean", row=GLOBUS, most=1),
    ),
    "i": (
        Claim(text="PCP is above Globus", row=GLOBUS, least=1),
        Claim(text="MC is above Globus", row="MC over Globus' settings", least=1),
    ),
}


def experiments() -> list[Experiment]:
    """The nine cells, each alone."""
    cells = [(testbed, kind) for testbed in TESTBEDS for kind in SETS]
    found = []
    for letter, (testbed, kind) in zip("abcdefghi", cells, strict=True):
        name = f"rcd-18{letter}"
        figure = Figure(
            name,
            "RCD",
            f"{testbed.name}, {kind} files: MC, PCP, RCD, Globus' settings, GridFTP, UDT, CPT",
            CLAIMS[letter],
        )
        found.append(Experiment([figure], partial(measure, testbed, kind, name), minutes=8))
    return found
