"""Plots as SVG: the same input gives the same bytes. It needs the dependency group `figures`."""

from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from bench.plots import Plot

OUT = Path("docs/figures")
mpl.rcParams |= {"svg.hashsalt": "cpt", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}


def save(canvas: Any, name: str, caption: str, digest: str | None = None) -> None:
    """Write one plot on white, with its caption below; `digest` is what it was drawn from."""
    canvas.supxlabel(fill(caption, 130), fontsize=8, parse_math=False)
    path = OUT / f"{name}.svg"
    about = {"Date": None, "Creator": None, **({"Description": digest} if digest else {})}
    canvas.savefig(path, metadata=about, facecolor="white")
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


def draw(plot: Plot, name: str, digest: str | None = None) -> None:
    """The panels of a plot beside each other, each on its own scale."""
    canvas = Canvas(figsize=(9.5, 2.6 if plot.panels[0].names else 4.2), layout="constrained")
    canvas.suptitle(f"Figure {plot.number}: {plot.title}")
    for axes, panel in zip(canvas.subplots(1, len(plot.panels), squeeze=False)[0], plot.panels, strict=True):
        for line in panel.curves:
            look = {"color": line.colour, "linewidth": line.width, "markersize": 3, "solid_capstyle": "butt"}
            axes.plot(line.x, line.y, line.style, label=line.label, **look)
        axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
        if panel.x_log:
            axes.set_xscale("log", base=2)
        if panel.names:
            axes.set_yticks(range(len(panel.names)), panel.names)
            axes.set_ylim(-0.6, len(panel.names) - 0.4)
        else:
            axes.set_ylim(bottom=0)
            axes.legend(fontsize=7)
    save(canvas, name, plot.caption, digest)
