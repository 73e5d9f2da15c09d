"""The plots of docs/design/080, from what `make bench-pool` wrote; the same numbers give the same bytes."""

from collections.abc import Callable
from statistics import fmean, pstdev
from typing import Any

from matplotlib.figure import Figure as Canvas

from bench.drawing import save
from bench.pool.real.series import known

SERVICE = {"asymmetric": "#0072b2", "symmetric": "#009e73"}


def _routes(axes: Any, found: dict[str, Any]) -> None:
    for size, style in (("small", "o-"), ("large", "s--")):
        axes.plot([int(one) for one in found[size]], found[size].values(), style, label=f"{size} destination")
    axes.set(title="Figure 4: own relays", xlabel="relays", ylabel="MB/s", ylim=(0, None))
    axes.legend(fontsize=7)


def _bars(title: str, label: str) -> Callable[[Any, dict[str, Any]], None]:
    def draw(axes: Any, found: dict[str, Any]) -> None:
        values = [one[0] if isinstance(one, list) else one for one in found.values()]
        spread = [one[1] if isinstance(one, list) else 0.0 for one in found.values()]
        axes.bar(range(len(values)), values, yerr=spread if any(spread) else None, color="#56b4e9")
        axes.set_xticks(range(len(values)), [name.replace(" ", "\n", 1) for name in found], fontsize=6)
        axes.set(title=title, ylabel=label)

    return draw


def _users(axes: Any, found: dict[str, Any]) -> None:
    for kind, by_count in found.items():
        counts = [int(count) for count in by_count]
        rates = [fmean(rates) for rates in by_count.values()]
        spread = [pstdev(rates) for rates in by_count.values()]
        axes.errorbar(counts, rates, spread, marker="o", color=SERVICE[kind], label=kind)
    axes.set(title="Figure 8: several users", xlabel="users", ylabel="MB/s each", ylim=(0, None))
    axes.legend(fontsize=7)


def _sizes(axes: Any, found: dict[str, Any]) -> None:
    for way, by_size in found.items():
        axes.plot([int(size) for size in by_size], by_size.values(), "o-", label=way)
    axes.set(title="Figure 10: large data", xlabel="GB in the paper, a hundredth here", ylabel="s", ylim=(0, None))
    axes.legend(fontsize=7)


def _costs(axes: Any, found: dict[str, Any]) -> None:
    _bars("Figure 11: compute", "$")(axes, found["compute"])


def _prices(axes: Any, found: dict[str, Any]) -> None:
    for number, (figure, name) in enumerate((("12", "service"), ("13", "with outbound"))):
        for at, (kind, one) in enumerate(found.items()):
            low, high = (1e3 * usd for usd in one[figure])
            axes.plot(
                [2 * number + at] * 2, [low, high], "_-", color=SERVICE[kind], markersize=14, label=f"{kind}, {name}"
            )
    axes.set(title="Figures 12, 13: prices", ylabel="$ per TB", ylim=(0, None))
    axes.set_xticks([])
    axes.legend(fontsize=6)


PANELS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "4": _routes,
    "5": _bars("Figure 5: ends by type", "MB/s"),
    "6": _bars("Figure 6: variation by relays", "coefficient"),
    "7": _bars("Figure 7: ways", "MB/s"),
    "8": _users,
    "9": _bars("Figure 9: relays that compute", "MB/s"),
    "10": _sizes,
    "11": _costs,
    "12": _prices,
}


def main() -> None:
    """Draw what was measured."""
    series = known()
    if not set(PANELS) <= set(series):
        return
    canvas = Canvas(figsize=(9.5, 8.5), layout="constrained")
    for axes, (figure, draw) in zip(canvas.subplots(3, 3).flat, PANELS.items(), strict=True):
        draw(axes, series[figure])
    caption = "Real bytes, nodes of 4 MB/s. Gains over the direct path, users' ends, variation and quotas are put in."
    save(canvas, "pool", caption)


if __name__ == "__main__":
    main()
