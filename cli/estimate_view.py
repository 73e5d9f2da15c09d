"""What people see of an estimate: its rows, why one was chosen, what would do in place of relays, its figures."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table

from cli.console import Text
from cli.fitting import Fitted
from lambdas.core.estimate.alternative import Alternative
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.rows import Row
from lambdas.core.estimate.side_by_side import OfKind
from lambdas.core.estimate.type_choice import Candidate
from lambdas.core.words import dollars, duration, size

BAR_WIDTH = 14  # beside eight columns
MOST_RANGE = 16  # characters of one line


def estimate_table(estimate: dict[str, Any]) -> RenderableType:
    """The rows of the estimate, bars for time, the chosen one marked."""
    table = Table(title=f"Estimate for {size(estimate['bytes'])}", title_justify="left", box=SIMPLE_HEAD)
    route = PairRoute.from_document(estimate["figures"].get("pairRoute", {}))
    table.add_column(f"{route.unit}s", justify="right", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("", width=BAR_WIDTH)
    table.add_column("speedup", justify="right", no_wrap=True)
    table.add_column("cost", justify="right", no_wrap=True)
    rows = [Row.from_document(row) for row in estimate["rows"]]
    weighed = any(row.cost_and_time_usd is not None for row in rows)
    if weighed:
        table.add_column("and time", justify="right", no_wrap=True)
    whole = any(row.whole_seconds is not None for row in rows)
    if whole:
        table.add_column("in all", justify="right", no_wrap=True)
    # Of use to those alone who choose by it; the document always has it.
    energy = "energy" in estimate["reason"]
    if energy:
        table.add_column("Wh", justify="right", no_wrap=True)
    table.add_column("limited by", overflow="fold")
    longest = max(row.bounds[1] for row in rows) or 1.0
    for row in rows:
        chosen = row.pairs == estimate["chosenPairs"]
        table.add_row(
            f"{'▶ ' if chosen else ''}{row.pairs}",
            "\n".join(filter(None, [duration(row.seconds), _range(row)])),
            Text(_bar(row, longest), style="green" if chosen else "dim"),
            f"{row.speedup:.2f} ×",
            dollars(row.cost_usd),
            *(["" if row.cost_and_time_usd is None else dollars(row.cost_and_time_usd)] if weighed else []),
            *([duration(row.whole_seconds)] if whole else []),
            *(["" if row.energy_wh is None else f"{row.energy_wh:.1f}"] if energy else []),
            f"{row.limit_and_ways}{'; with a pre-test' if row.pre_test else ''}",
            style="bold" if chosen else "",
        )
    note = f"p = {estimate['chosenPairs']}: {estimate['reason']}. Relays: {estimate['instanceType']}."
    told = [note, *_why_so(estimate)]
    others = [_kinds_table(kinds)] if (kinds := estimate.get("sideBySide")) else []
    others += [_alternatives_table(found)] if (found := estimate.get("alternatives")) else []
    rows_shown = Fitted(table, bars=[""], sentences=["limited by"])
    return Group(rows_shown, *(Text(line, style="dim") for line in told), *others, _figures_table(estimate["figures"]))


_KINDS = {
    "direct": "the direct path alone",
    "lent": "machines of yours",
    "pool": "leases in the pool",
    "launched": "relays that are launched",
}


def _kinds_table(found: list[dict[str, Any]]) -> RenderableType:
    """Where relays could come from, each at its best."""
    table = Table(title="Where relays could come from, each by itself", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    for name in ("pairs", "time", "cost", "of these pool", "Wh"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in map(OfKind.from_document, found):
        pool = "" if one.pool_usd is None else dollars(one.pool_usd)
        row = (str(one.pairs), duration(one.seconds), dollars(one.cost_usd), pool, f"{one.energy_wh:.1f}")
        table.add_row(_KINDS[one.kind], *row)
    return Fitted(table)


def _alternatives_table(found: list[dict[str, Any]]) -> RenderableType:
    """What would do in place of relays."""
    table = Table(title="In place of relays, at best", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    for name in ("time", "cost", "and time"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("what it takes", overflow="fold")
    for one in map(Alternative.from_document, found):
        table.add_row(one.what, duration(one.seconds), dollars(one.cost_usd), dollars(one.cost_and_time_usd), one.note)
    return Fitted(table, sentences=["what it takes"])


def _why_so(estimate: dict[str, Any]) -> list[str]:
    """What is decided on the way, why these relays, and what a reader should know of prices and limits."""
    found = []
    question = estimate.get("onTheWay")
    if question and question not in estimate["reason"]:
        found.append(f"The first seconds of the transfer decide about relays: {question}.")
    kinds = [Candidate.from_document(one) for one in estimate.get("candidates", [])]
    if len(kinds) > 1:
        found.append(f"Types: {'; '.join(f'{one.name}: {one.reason}' for one in kinds)}.")
    return [*found, *(f"Note: {one}." for one in estimate.get("notes", []))]


def _range(row: Row) -> str:
    """`15.8 s to 21.3 s`; long ones on two lines."""
    words = row.range_in_words
    return words if len(words) <= MOST_RANGE else words.replace(" to ", "\nto ")


def _bar(row: Row, longest: float) -> str:
    """A bar as long as the expected time, and its shadow as long as the worst one."""
    expected, worst = (max(1, round(BAR_WIDTH * seconds / longest)) for seconds in (row.seconds, row.bounds[1]))
    return "█" * expected + "░" * (worst - expected)


_FIGURES = {
    "sourceMBps": "source sends in all, MB/s",
    "sourceDiskMBps": "source's disk reads, MB/s",
    "destinationMBps": "destination receives in all, MB/s",
    "destinationDiskMBps": "destination's disk writes, MB/s",
    "sourceProcessorMBps": "source hashes and encrypts, MB/s",
    "destinationProcessorMBps": "destination decrypts and hashes, MB/s",
    "sourceMountMBps": "mounts of the source's file system, MB/s",
    "sourceFileSystemMBps": "source's file system serves, MB/s",
    "destinationMountMBps": "mounts of the destination's file system, MB/s",
    "destinationFileSystemMBps": "destination's file system takes, MB/s",
    "filesMBps": "files as small as these, MB/s",
    "storeMBps": "S3 takes or serves in all, MB/s",
    "directMBps": "direct path, MB/s",
    "pairMBps": "a pair of relays, MB/s",
    "lanesPerPlanned": "lanes for each that is planned",
    "pairGain": "each further pair adds, of the first",
    "spawnSeconds": "until a relay carries data, s",
    "relayHourUsd": "a relay's hour, $",
    "relayTailSeconds": "relays beyond the data, s",
    "egressUsdPerGB": "out of the region, $/GB",
    "requestsUsd": "requests to the bucket, $",
    "fileSystemsUsdPerGB": "file systems at most, $/GB",
    "poolUsdPerGB": "through the pool, $/GB",
    "poolNodeMBps": "a node of the pool, MB/s",
    "gatewayUsdPerGB": "through a transit gateway, $/GB",
    "distcpSeconds": "DistCp for the same files, s",
    "distcpMaps": "map tasks of DistCp at once",
    "distcpMapMBps": "a map task of DistCp, MB/s",
    "distcpStartSeconds": "a DistCp that copies nothing, s",
    "repeatedShare": "sent beyond what arrives, share",
    "crossZoneUsdPerGB": "between zones, $/GB",
    "relayCrossZoneUsdPerGB": "between zones with relays, $/GB",
}


def _figures_table(figures: dict[str, Any]) -> RenderableType:
    """What the estimate was computed from, and who says so."""
    table = Table(box=None, style="dim", show_header=False, pad_edge=False)
    table.add_column("figure")
    table.add_column("value", no_wrap=True)
    table.add_column("known from")
    for name, what in _FIGURES.items():
        if figure := figures.get(name):
            known = Figure.from_document(figure)
            table.add_row(what, known.words, known.told)
    return Fitted(table, sentences=["known from"])


def comparison_table(comparison: dict[str, Any]) -> RenderableType:
    """Every model at every p, the fastest marked."""
    table = Table(title=f"Models for {size(comparison['bytes'])}", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("model")
    for name in ("pairs", "time", "speedup", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("limited by", overflow="fold")
    fastest = min(row["seconds"] for row in comparison["rows"])
    for row in comparison["rows"]:
        first = row["seconds"] == fastest
        table.add_row(
            f"{'▶ ' if first else '  '}{row['model']}",
            str(row["pairs"]),
            duration(row["seconds"]),
            f"{row['speedup']:.2f} ×",
            dollars(row["costUsd"]),
            row["limit"],
            style="bold" if first else "",
        )
    note = "▶ the fastest. Speedup is against sequential, one stream on the direct path. Figures: as given."
    return Group(Fitted(table, sentences=["limited by"]), Text(note, style="dim"))
