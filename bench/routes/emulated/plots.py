"""The plot of docs/design/035, from what `make bench-routes-emulated` wrote; the same numbers give the same bytes."""

import json
from statistics import median
from typing import Any

from matplotlib.figure import Figure as Canvas

from bench.drawing import save
from bench.results import OUT
from bench.routes.emulated.samples import at
from bench.routes.plots import COLOURS

SERIES = OUT / "routes-emulated-series.json"
SHOWN = {
    "figure 9, links are capped, late": "each link is capped",
    "figure 9, machines are capped, late": "each machine is capped",
}
POINTS = 120


def over_time(series: dict[str, list[dict[str, Any]]]) -> None:
    """Figure 9a: MB that have arrived, median of the seeds, with the least and the most of them."""
    shown = {case: title for case, title in SHOWN.items() if case in series}
    canvas = Canvas(figsize=(9.5, 4.2), layout="constrained")
    panels = canvas.subplots(1, len(shown), squeeze=False)[0]
    for axes, (case, title) in zip(panels, shown.items(), strict=True):
        runs = series[case]
        last = min(run["samples"][name][-1][0] for run in runs for name in run["samples"])
        times = [last * point / POINTS for point in range(POINTS + 1)]
        for name in runs[0]["samples"]:
            moved = [sorted(at(run["samples"][name], seconds) for run in runs) for seconds in times]
            minutes = [10 * seconds / last for seconds in times]
            axes.plot(minutes, [median(one) for one in moved], color=COLOURS[name], label=name, linewidth=1.4)
            low, high = [one[0] for one in moved], [one[-1] for one in moved]
            axes.fill_between(minutes, low, high, color=COLOURS[name], alpha=0.1, linewidth=0)
        axes.set(title=f"{title}, {len(runs)} seeds", ylim=(0, None), xlim=(0, 10), ylabel="MB arrived")
        axes.legend(fontsize=7, loc="upper left")
    caption = "Minutes, each scaled to a tenth. Real bytes, 25 relays, six regions. Lines are medians, areas all seeds."
    save(canvas, "routes-emulated", caption)


def main() -> None:
    """Draw it, if Figure 9 was among the cases."""
    if SERIES.exists():
        over_time(json.loads(SERIES.read_text()))


if __name__ == "__main__":
    main()
