"""The plots of docs/design/032, from what `make bench-routes` wrote; the same numbers give the same bytes."""

import json
from statistics import median
from typing import Any

from matplotlib.figure import Figure as Canvas

from bench.drawing import save
from bench.results import OUT

COLOURS = {
    "direct link": "black",
    "widest path, once": "#e69f00",
    "widest path, refreshed": "#d55e00",
    "Algorithm 1 as printed, refreshed": "#0072b2",
    "planner, refreshed": "#009e73",
}
KINDS = {"0.001": "each link is capped", "0.6": "each further relay adds 0.6", "1": "each relay is capped"}
CLOUDS = {"all": "black", "aws": "#d55e00", "azure": "#0072b2", "gcp": "#009e73"}


def over_time(series: dict[str, Any]) -> None:
    """Figure 9a: GB that have arrived after each minute, median of the seeds."""
    canvas = Canvas(figsize=(9.5, 6), layout="constrained")
    panels = canvas.subplots(2, len(KINDS), sharex=True)
    for row, when in zip(panels, ("at once", "late"), strict=True):
        for axes, (gain, kind) in zip(row, KINDS.items(), strict=True):
            for name, colour in COLOURS.items():
                runs = series["minutes"][f"{gain} {when}"][name]
                middle = [median(minute) / 1000 for minute in zip(*runs, strict=True)]
                axes.plot(range(1, len(middle) + 1), middle, color=colour, label=name, linewidth=1.2)
            axes.set(title=f"{kind}, {when}", ylim=(0, None))
        row[0].set_ylabel("GB arrived")
    panels[0][0].legend(fontsize=6)
    caption = f"Minutes. Six regions, 25 relays, caps drawn every minute; median of 20 seeds from {series['seed']}."
    save(canvas, "routes-over-time", caption)


def by_relays(series: dict[str, Any]) -> None:
    """Figure 9b: GB that have arrived after ten minutes, by the number of relays."""
    canvas = Canvas(figsize=(9.5, 3.4), layout="constrained")
    for axes, (gain, kind) in zip(canvas.subplots(1, len(KINDS)), KINDS.items(), strict=True):
        numbers = series["numbers"][gain]
        for name, colour in COLOURS.items():
            moved = [numbers[relays][name] / 1000 for relays in numbers]
            axes.plot([int(relays) for relays in numbers], moved, color=colour, label=name, linewidth=1.2)
        axes.set(title=kind, ylim=(0, None), ylabel="GB in ten minutes")
    canvas.axes[0].legend(fontsize=6)
    save(canvas, "routes-by-relays", "Relays. The same, planned at once.")


def gains(series: dict[str, Any]) -> None:
    """Gain over relay pairs, by share of the pairs of regions."""
    canvas = Canvas(figsize=(9.5, 3.6), layout="constrained")
    for axes, relays in zip(canvas.subplots(1, 2, sharey=True), (8, 24), strict=True):
        for cloud, colour in CLOUDS.items():
            found = sorted(series["gains"][f"{cloud}, {relays}"], reverse=True)
            share = [100 * place / len(found) for place in range(len(found))]
            axes.plot(share, found, color=colour, label=cloud, linewidth=1.2)
        axes.set(title=f"{relays} relays", xlim=(0, 60), ylim=(0.9, 4))
    canvas.axes[0].set_ylabel("rate over relay pairs")
    canvas.axes[0].legend(fontsize=7)
    save(canvas, "routes-gains", "Per cent of the pairs of regions with so much gain or more, on the measured map.")


def main() -> None:
    """Draw everything."""
    series = json.loads((OUT / "routes-series.json").read_text())
    over_time(series)
    by_relays(series)
    gains(series)


if __name__ == "__main__":
    main()
