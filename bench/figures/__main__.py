"""`make figures`: the SVG plots of docs/models.md; the same input gives the same bytes."""

import json
import sys
from dataclasses import asdict

from matplotlib.figure import Figure as Canvas

from bench.drawing import OUT, draw, save
from bench.figures.hdfs import hdfs_figures
from bench.figures.hdfs_outcomes import outcomes
from bench.figures.sampling import SEED, STRATEGIES, Trace, errors, recorded, synthetic
from bench.figures.series import Figure, thesis_figures
from bench.results import OUT as DATA
from bench.results import publish

COLOURS = {0: "black", 2: "#0072b2", 4: "#d55e00", 8: "#009e73"}


def draw_both(figure: Figure) -> None:
    """Both panels beside each other on one scale."""
    canvas = Canvas(figsize=(9.5, 4.2), layout="constrained")
    canvas.suptitle(f"Figure {figure.number}: {figure.title}")
    both = canvas.subplots(1, len(figure.panels), sharey=True)
    scale = "log" if figure.y_label.endswith("per dollar") else "linear"
    for axes, (title, lines) in zip(both, figure.panels, strict=True):
        for line in lines:
            axes.plot(figure.x, line.y, line.style, color=COLOURS[line.pairs], label=line.label, linewidth=1.4)
        axes.set(title=title, xlabel=figure.x_label, yscale=scale)
        axes.legend(fontsize=7)
    both[0].set_ylabel(figure.y_label)
    save(canvas, f"figure-{figure.number.replace('.', '-')}", figure.caption)


def draw_traces(traces: dict[str, Trace]) -> None:
    """Each trace with what the strategies predict, and their mean errors in the titles."""
    canvas = Canvas(figsize=(9.5, 2.4 * len(traces)), layout="constrained")
    for axes, (name, trace) in zip(canvas.subplots(len(traces), 1), traces.items(), strict=True):
        found = ", ".join(f"{strategy} {error:.1f} %" for strategy, error in errors(trace).items())
        axes.plot(trace.samples, ".", color="#999999", markersize=3, label="samples")
        axes.plot(trace.real, color="black", linewidth=1.2, label="real")
        for colour, (strategy, predict) in zip(("#56b4e9", "#e69f00", "#009e73"), STRATEGIES.items(), strict=True):
            axes.plot(range(1, len(trace.samples)), predict(trace.samples), color=colour, label=strategy, linewidth=1)
        axes.set(title=f"{name}: {found}", ylabel="MB/s", ylim=(0, None))
        axes.legend(fontsize=7, ncols=5, loc="lower right")
    save(canvas, "sample-integration", f"Mean error per strategy. Seed of the synthetic traces: {SEED}.")


def main() -> int:
    """Draw everything, write the data of Figures 6.5 to 6.9, and say which of their printed outcomes hold."""
    OUT.mkdir(parents=True, exist_ok=True)
    for figure in thesis_figures():
        draw_both(figure)
    draw_traces({**synthetic(), "recorded": recorded()})
    plots = hdfs_figures()
    for plot in plots:
        draw(plot, f"figure-{plot.number.replace('.', '-')}")
    print(f"{OUT}: drawn")
    status = publish("hdfs-model", outcomes(), "make figures")
    series = {plot.number: asdict(plot) for plot in plots}
    (DATA / "hdfs-model-series.json").write_text(json.dumps(series, indent=2, default=list) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
