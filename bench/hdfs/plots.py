"""The plots of docs/comparison.md, from what `make bench-hdfs` wrote; the same numbers give the same bytes."""

import json
from typing import Any

from matplotlib.figure import Figure as Canvas

from bench.drawing import save
from bench.hdfs import arithmetic
from bench.hdfs.counts import OURS, THEIR_BEST, THEIR_STOCK
from bench.hdfs.network import MAPS, WORKERS, Rates
from bench.hdfs.pairs import LIKE_WORKERS, TOO_SMALL
from bench.results import OUT
from lambdas.core.models.distcp import DistCp

COLOURS = {OURS: "#009e73", THEIR_STOCK: "black", THEIR_BEST: "#d55e00"}
KINDS = {LIKE_WORKERS: ("#0072b2", "s-"), TOO_SMALL: ("#e69f00", "^-")}
MIB_MB = (1 << 20) / 1e6


def over_size(series: dict[str, Any]) -> None:
    """Figure 6.5: seconds over the number of files, by tool, and what the models say."""
    panels = [(name, found) for name, found in series.items() if name.startswith("6.5 ")]
    canvas = Canvas(figsize=(9.5, 4.2), layout="constrained")
    for axes, (_, found) in zip(canvas.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        rates = Rates(**found["rates"])
        file_mb = found["file_mib"] * MIB_MB
        for tool, colour in COLOURS.items():
            points = [(int(files), sorted(runs)[len(runs) // 2]) for files, runs in found["seconds"][tool].items()]
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=tool, linewidth=1.4, markersize=4)
        most = max(int(files) for files in found["data_seconds"])
        model = DistCp(found["start_seconds"][THEIR_STOCK], rates.map_mb_s, MAPS)
        files = range(1, most + 1)
        axes.plot(files, [model.seconds(n, file_mb) for n in files], ":", color="black", label="DistCp, stock, model")
        bound = [arithmetic.bound_seconds(n * file_mb, [rates.worker_mb_s] * WORKERS) for n in files]
        axes.plot(files, bound, ":", color=COLOURS[OURS], label="bound of the caps")
        axes.set(title=f"files of {found['file_mib']} MiB", xlabel="files", ylabel="seconds", ylim=(0, None))
        axes.legend(fontsize=7)
    canvas.suptitle("Figure 6.5, measured: whole times, without relays")
    save(canvas, "hdfs-6-5", _caption(panels[0][1]))


def with_relays(series: dict[str, Any]) -> None:
    """Figure 6.8: seconds and dollars over files, two pairs of either kind."""
    points = [point for point in series["6.8"] if point["pairs"]]
    canvas = Canvas(figsize=(9.5, 3.8), layout="constrained")
    for axes, (key, label) in zip(
        canvas.subplots(1, 2), (("data_seconds", "seconds of data"), ("usd", "dollars")), strict=True
    ):
        for kind, (colour, style) in KINDS.items():
            chosen = [(point["files"], point[key]) for point in points if point["kind"] == kind]
            axes.plot(*zip(*chosen, strict=True), style, color=colour, label=f"two pairs, {kind}", markersize=4)
        if key == "data_seconds":
            for kind, (colour, _) in KINDS.items():
                chosen = [(point["files"], point["model_seconds"]) for point in points if point["kind"] == kind]
                axes.plot(*zip(*chosen, strict=True), ":", color=colour, label="zero wait")
        axes.set(xlabel="files of 32 MiB", ylabel=label, ylim=(0, None))
        axes.legend(fontsize=7)
    canvas.suptitle("Figure 6.8, measured: two pairs more")
    save(canvas, "hdfs-6-8", "Dollars: m4.large $0.1000, t2.micro $0.0116 an hour, four machines for the data's time.")


def by_pairs(series: dict[str, Any]) -> None:
    """Figure 6.9: seconds by the number of pairs, beside the model and DistCp's times."""
    canvas = Canvas(figsize=(6, 3.8), layout="constrained")
    axes = canvas.subplots()
    points = series["6.9"]["points"]
    for number, files in enumerate(sorted({point["files"] for point in points})):
        chosen = [point for point in points if point["files"] == files]
        colour = list(COLOURS.values())[number % 3]
        pairs = [point["pairs"] for point in chosen]
        axes.plot(pairs, [point["data_seconds"] for point in chosen], "o-", color=colour, label=f"{files} files, data")
        axes.plot(pairs, [point["model_seconds"] for point in chosen], ":", color=colour, label="zero wait")
    axes.set(xlabel="pairs", ylabel="seconds", ylim=(0, None))
    axes.legend(fontsize=7)
    canvas.suptitle("Figure 6.9, measured: what pairs save")
    save(canvas, "hdfs-6-9", "Files of 32 MiB; the model has the seconds at which pairs really joined.")


def _caption(found: dict[str, Any]) -> str:
    rates = Rates(**found["rates"])
    return (
        f"Two workers a side, each {rates.worker_mb_s:g} MB/s between regions and {rates.inside_mb_s:g} inside; {MAPS} "
        f"maps at once on a machine with the caps of both workers, {rates.map_mb_s:.2f} MB/s each where stock. "
        "Replication 2 on both sides."
    )


def main() -> None:
    """Draw what was measured."""
    series = json.loads((OUT / "hdfs-series.json").read_text())
    if any(name.startswith("6.5 ") for name in series):
        over_size(series)
    if "6.8" in series:
        with_relays(series)
    if "6.9" in series:
        by_pairs(series)


if __name__ == "__main__":
    main()
