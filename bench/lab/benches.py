"""Figures that a benchmark of this project measures already: the laboratory runs it, and keeps what it wrote."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from bench.data_plane.process import BenchError
from bench.figures.sampling import SEED, STRATEGIES, Trace, errors, recorded, synthetic
from bench.lab.experiment import Experiment, Figure, Found, Lab
from bench.plots import BLACK, COLOURS, Curve, Panel, Plot
from bench.results import OUT, Result, say

TIMEOUT_SECONDS = 3 * 3600


@dataclass(frozen=True)
class Bench:
    """A benchmark's module and arguments, and the file with its rows in `bench/out`; `{seed}` is the laboratory's."""

    module: str
    arguments: str
    rows: str
    plots: Callable[[], Sequence[Plot]] = tuple


def run(bench: Bench, figures: Sequence[str], lab: Lab) -> Mapping[str, Found]:
    """Run it; each figure gets the rows whose names begin with its number, or all where none does."""
    arguments = bench.arguments.format(seed=lab.seed).split()
    arguments += ["--quick"] if lab.smoke else []
    file = OUT / f"{bench.rows}.json"
    file.unlink(missing_ok=True)
    say(f"  python -m {bench.module} {' '.join(arguments)}")
    process = subprocess.Popen(
        [sys.executable, "-m", bench.module, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    for line in process.stdout or ():
        say(f"  {line.rstrip()}")
    status = process.wait(TIMEOUT_SECONDS)
    if not file.exists():
        raise BenchError(f"{bench.module} ended with {status} and wrote no rows")
    rows = [
        Result(**{key: row[key] for key in ("case", "measured", "unit", "bar", "better", "note")})
        for row in json.loads(file.read_text())
    ]
    plots = bench.plots()
    found = {}
    for name in figures:
        number = name.split("-", 1)[1]
        own = [row for row in rows if row.case.startswith(f"{number}:")]
        found[name] = Found(own or rows, [plot for plot in plots if plot.number == number] or plots)
    return found


def of_bench(bench: Bench, figures: Sequence[Figure], minutes: float) -> Experiment:
    """The experiment."""
    names = [figure.name for figure in figures]
    return Experiment(figures, partial(run, bench, names), minutes, isolated=False, daemon=False)


def minutes_of_routes() -> Sequence[Plot]:
    """GEO-DMS' Figures 9a, from the series that `bench.routes` wrote."""
    series: dict[str, Any] = json.loads((OUT / "routes-series.json").read_text())
    panels = []
    for when, of_kind in series["minutes"].items():
        if when.startswith("0.001"):
            curves = []
            for (name, runs), colour in zip(of_kind.items(), COLOURS, strict=False):
                middle = [median(minute) / 1000 for minute in zip(*runs, strict=True)]
                curves.append(Curve(name, list(range(1, len(middle) + 1)), middle, colour))
            panels.append(Panel(f"links are capped, {when.split()[-1]}", "minutes", "GB arrived", curves))
    return [
        Plot("9a", "Four strategies over ten minutes", panels, "Six regions, 25 relays; median of 20 seeds; simulated.")
    ]


def sampling(lab: Lab) -> Mapping[str, Found]:
    """GEO-DMS' Figure 4: errors of three ways to predict, of which one is ours."""
    traces: dict[str, Trace] = {**synthetic(), "recorded": recorded()}
    rows, panels = [], []
    for name, trace in traces.items():
        found = errors(trace)
        rows += [Result(f"{name}: {strategy}", error, "%") for strategy, error in found.items()]
        others = min(error for strategy, error in found.items() if strategy != "weighted")
        rows.append(Result(f"{name}: weighted over the better of the others", found["weighted"] / others, "x"))
        curves = [Curve("real", list(range(len(trace.real))), trace.real, BLACK)]
        for (strategy, predict), colour in zip(STRATEGIES.items(), COLOURS, strict=False):
            curves.append(
                Curve(strategy, list(range(1, len(trace.samples))), predict(trace.samples), colour, width=0.9)
            )
        if name in ("noisy", "recorded"):
            panels.append(Panel(name, "samples", "MB/s", curves))
    caption = f"The recorded trace is of streams that came and went on one machine; seed of the others {SEED}."
    return {"geo-4": Found(rows, [Plot("4", "Three estimators", panels, caption)], caption)}
