"""The timelines of Figures 6.6 and 6.7 as measured, from what `make bench-staged` wrote.

It needs the dependency group `figures`, as `make figures` does. The same numbers give the same bytes.
"""

import json
from typing import Any

from matplotlib.figure import Figure as Canvas

from bench.drawing import save
from bench.results import OUT

SERIES = OUT / "hdfs-staged-series.json"
NAME = "hdfs-staged"
COLOURS = {
    "export": "#0072b2",
    "bundle": "#56b4e9",
    "transfer": "#d55e00",
    "unbundle": "#90d0b0",
    "import": "#009e73",
}
STAGES = {"export": "export_seconds", "transfer": "transfer_seconds", "import": "import_seconds"}
OF_FIGURE = {"2": "6.6", "12": "6.7"}
ROWS = ("Eq. 5.1, zero wait", "Eq. 5.1, store and forward", "measured")


def timelines(series: dict[str, Any]) -> None:
    """A panel for each copy: its steps as measured, and export, transfer and import by Equation 5.1 below them."""
    runs = series["runs"]
    canvas = Canvas(figsize=(9.5, 2.8), layout="constrained")
    canvas.suptitle("Staged copies between two Hadoops")
    panels = canvas.subplots(1, len(runs), squeeze=False)[0]
    for axes, (files, run) in zip(panels, runs.items(), strict=True):
        for span in run["spans"]:
            bar(axes, 2, span["begin"], span["end"], span["step"])
        for row, stages in ((1, run["storeAndForward"]), (0, run["zeroWait"])):
            begin = 0.0
            for name, key in STAGES.items():
                bar(axes, row, begin, begin + stages[key], name)
                begin += stages[key]
        number = f"Figure {OF_FIGURE[files]}: " if files in OF_FIGURE else ""
        axes.set(title=f"{number}{files} files of {series['fileBytes'] / 1e6:.0f} MB", xlabel="seconds")
        axes.set_yticks(range(len(ROWS)), ROWS)
        axes.set_ylim(-0.6, len(ROWS) - 0.4)
        named = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        axes.legend(named.values(), named.keys(), fontsize=7)
    rates = series["rates"]
    save(
        canvas,
        NAME,
        f"Two real Hadoops of two workers each, lent as relays; {rates['inter_mb_s']:g} MB/s between the regions, "
        f"{rates['intra_mb_s']:g} inside. Sizes and T_v are 1:{series['scale']}. Export and import rates of the "
        "equation are those that the first copy showed.",
    )


def bar(axes: Any, row: int, begin: float, end: float, step: str) -> None:
    """One step in a row."""
    axes.plot((begin, end), (row, row), color=COLOURS[step], label=step, linewidth=10, solid_capstyle="butt")


def main() -> None:
    """Draw them, if they were measured."""
    if SERIES.exists():
        timelines(json.loads(SERIES.read_text()))


if __name__ == "__main__":
    main()
