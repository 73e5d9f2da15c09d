"""What people see: the estimate, the live view, the report."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from lambdas.core.bandwidth import limit_in_words
from lambdas.core.chunks.skipped import SkippedEntry
from lambdas.core.deletion import Deleted, WouldDelete, in_words
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.first_contact import RelayDecision
from lambdas.core.estimate.rows import Row
from lambdas.core.failures import advice
from lambdas.core.report.route_report import RouteShare
from lambdas.core.report.timeline import LimitSet
from lambdas.core.words import duration

BAR_WIDTH = 24
PLAIN_WIDTH = 120  # of logs and pipes, where there is no terminal to ask


def make_console() -> Console:
    """A console as wide as the terminal; in logs and pipes wide enough for a row of the estimate."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PLAIN_WIDTH)


def megabytes(count: float) -> str:
    """Bytes as MB (10⁶), small counts as kB."""
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 or not count else f"{count / 1e3:,.1f} kB"


def estimate_table(estimate: dict[str, Any]) -> RenderableType:
    """The rows of the estimate, bars for time, the chosen one marked."""
    table = Table(title=f"Estimate for {megabytes(estimate['bytes'])}", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("pairs", justify="right")
    table.add_column("time", justify="right")
    table.add_column("", width=BAR_WIDTH)
    table.add_column("speedup", justify="right")
    table.add_column("cost", justify="right")
    rows = [Row.from_document(row) for row in estimate["rows"]]
    whole = any(row.whole_seconds is not None for row in rows)
    if whole:
        table.add_column("in all", justify="right")
    table.add_column("Wh", justify="right")
    table.add_column("limited by", overflow="fold")
    longest = max(row.bounds[1] for row in rows) or 1.0
    for row in rows:
        chosen = row.pairs == estimate["chosenPairs"]
        table.add_row(
            f"{'▶ ' if chosen else ''}{row.pairs}",
            "\n".join(filter(None, [duration(row.seconds), row.range_in_words])),
            Text(_bar(row, longest), style="green" if chosen else "dim"),
            f"{row.speedup:.2f} ×",
            f"${row.cost_usd:.4f}",
            *([duration(row.whole_seconds or 0.0)] if whole else []),
            "" if row.energy_wh is None else f"{row.energy_wh:.1f}",
            row.limit_and_ways,
            style="bold" if chosen else "",
        )
    note = f"p = {estimate['chosenPairs']}: {estimate['reason']}. Relays: {estimate['instanceType']}."
    return Group(table, Text(note, style="dim"), _figures_table(estimate["figures"]))


def _way(way: RouteShare) -> str:
    return f"{way.words}: {100 * way.share:.0f} % of the bytes by {way.relays} relays, egress ${way.egress_usd:.4f}"


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
    "filesMBps": "files as small as these, MB/s",
    "directMBps": "direct path, MB/s",
    "pairMBps": "a pair of relays, MB/s",
    "lanesPerPlanned": "lanes for each that is planned",
    "pairGain": "each further pair adds, of the first",
    "spawnSeconds": "until a relay carries data, s",
    "relayHourUsd": "a relay's hour, $",
    "relayTailSeconds": "relays beyond the data, s",
    "egressUsdPerGB": "out of the region, $/GB",
    "gatewayUsdPerGB": "through a transit gateway, $/GB",
    "repeatedShare": "sent beyond what arrives, share",
    "crossZoneUsdPerGB": "between zones, $/GB",
    "relayCrossZoneUsdPerGB": "between zones with relays, $/GB",
}


def _figures_table(figures: dict[str, Any]) -> RenderableType:
    """What the estimate was computed from, and who says so."""
    table = Table(box=None, style="dim", show_header=False, pad_edge=False)
    for _ in range(3):
        table.add_column()
    for name, what in _FIGURES.items():
        if figure := figures.get(name):
            known = Figure.from_document(figure)
            table.add_row(what, known.words, known.told)
    return table


def comparison_table(comparison: dict[str, Any]) -> RenderableType:
    """Every model at every p, the fastest marked."""
    table = Table(title=f"Models for {megabytes(comparison['bytes'])}", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("model")
    for name in ("pairs", "time", "speedup", "cost"):
        table.add_column(name, justify="right")
    table.add_column("limited by", overflow="fold")
    fastest = min(row["seconds"] for row in comparison["rows"])
    for row in comparison["rows"]:
        first = row["seconds"] == fastest
        table.add_row(
            f"{'▶ ' if first else '  '}{row['model']}",
            str(row["pairs"]),
            duration(row["seconds"]),
            f"{row['speedup']:.2f} ×",
            f"${row['costUsd']:.4f}",
            row["limit"],
            style="bold" if first else "",
        )
    note = "▶ the fastest. Speedup is against sequential, one stream on the direct path. Figures: as given."
    return Group(table, Text(note, style="dim"))


_STATUS_STYLES = {"SUCCEEDED": "bold green", "SUCCEEDED_WITH_SKIPS": "bold yellow"}


def report_view(report: dict[str, Any]) -> RenderableType:
    """The summary: time and cost against the estimate, wall time per stage as bars."""
    style = _STATUS_STYLES.get(report["status"], "bold red")
    lines = [Text(f"{report['status']}: {report['transferId']}", style=style)]
    if report.get("error"):
        lines.append(Text(f"{report['error']}: {report.get('cause', '')}", style="red"))
        lines.append(Text(f"What to do: {advice(report['error'])}"))
    if report.get("budget", {}).get("decision") == "direct":
        lines.append(Text(report["budget"]["cause"], style="yellow"))
    lines += [Text(sentence, style="yellow") for sentence in _skipped(report.get("skipped"))]
    if report.get("measured"):
        lines += [Text(sentence) for sentence in _measured(report)]
    elif report.get("dryRun"):
        lines += [Text(sentence) for sentence in _dry_run(report)]
    elif report["bytes"]:
        lines += [Text(sentence) for sentence in _summary(report)]
    lines += [Text(sentence, style="yellow") for sentence in _limits(report.get("course"))]
    if (same := report.get("same")) and not report.get("dryRun"):
        lines.append(Text(f"{same['files']:,} files, {megabytes(same['bytes'])}, were there already and were not sent"))
    lines += [Text(sentence) for sentence in _deleted(report.get("deleted"))]
    if unselected := report.get("unselected"):
        counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(unselected["counts"].items()))
        lines.append(Text(f"not selected: {counts}; listed in {unselected['where']}"))
    lines += [Text(_way(RouteShare.from_document(one))) for one in report.get("routes", [])]
    lines += [Text(RelayDecision.from_document(one).words()) for one in report.get("decisions", [])]
    lines += [Text(sentence, style="yellow") for sentence in _fleet(report.get("fleet"))]
    return Group(*lines, Text("Wall time per stage", style="bold"), _stage_bars(report["stages"]))


def _dry_run(report: dict[str, Any]) -> list[str]:
    """What would be done, one action a line; nothing was."""
    found, estimate = report["dryRun"], report["estimate"]
    said = {"new": "new", "changed": "changed", "equal": "equal, not sent"}
    lines = [
        f"{words}: {one['files']:,} files, {megabytes(one['bytes'])}"
        + (f", {duration(one['seconds'])}, ${one['costUsd']:.4f}" if one["seconds"] else "")
        for name, words in said.items()
        if (one := found[name])["files"]
    ]
    return [
        "dry run: nothing was moved, and no relay was launched",
        *lines,
        f"all of it with {estimate['chosenPairs']} pairs: {duration(report['seconds']['estimate'])}, "
        f"${report['cost']['estimate']:.4f}",
        f"what would be sent is listed in {found['where']}",
        *_would_delete(found.get("deleted")),
        f"this run cost ${report['cost']['total']:.4f}",
    ]


def _would_delete(found: dict[str, Any] | None) -> list[str]:
    """What would be removed, and how to confirm that; nothing where the request does not say delete."""
    if found is None:
        return []
    extras = WouldDelete.from_document(found)
    spared = [f"only at the destination, and not deleted: {in_words(extras.spared)}"] if extras.spared else []
    if not extras.entries:
        return ["deleted: nothing", *spared]
    most = f"; maxDelete is {extras.max_delete:,}, so give a larger one too" if extras.refused else ""
    return [
        f"deleted: {extras.words()}",
        *spared,
        f"what would be deleted is listed in {extras.where}",
        f"to delete these and no others: cpt start REQUEST --confirm-delete {extras.digest}{most}",
    ]


def _deleted(found: dict[str, Any] | None) -> list[str]:
    """What became of the extras; nothing where there were none."""
    if found is None:
        return []
    deleted = Deleted.from_document(found)
    lines = [f"{deleted.entries:,} extras, {megabytes(deleted.bytes)}, were deleted; listed in {deleted.where}"]
    if rest := deleted.remaining:
        lines.append(f"still there: {in_words(rest.counts)}; listed in {rest.where}")
    return lines


def _skipped(skipped: dict[str, Any] | None) -> list[str]:
    """What was left out, by name as far as the report has it."""
    if skipped is None:
        return []
    entries = [SkippedEntry.from_document(entry) for entry in skipped["first"]]
    left = skipped["count"] - len(entries)
    return [
        f"{skipped['count']:,} left out:",
        *(f"  {entry.words()}" for entry in entries),
        *([f"  and {left:,} more, listed in {skipped['where']}"] if left else []),
    ]


def _summary(report: dict[str, Any]) -> list[str]:
    seconds, cost = report["seconds"], report["cost"]
    direct = seconds["directEstimate"]
    times = direct / max(seconds["transfer"], 0.001)
    return [
        f"{megabytes(report['bytes'])} in {report['files']:,} files and {report['chunks']:,} chunks, "
        f"{report['retries']} retried; verified: {'yes' if report['verified'] else 'no'}"
        + (" (read back)" if report.get("verification") == "readback" else ""),
        f"{duration(seconds['transfer'])} of data at {report['rateMBps']:,.1f} MB/s "
        f"on the direct path and {report['pairs']} relay pairs",
        f"estimated {duration(seconds['estimate'])}; "
        f"the direct path alone would take {duration(direct)} ({times:.2f} × as long)",
        f"first byte after {duration(seconds['firstByte'])}, all done after {duration(seconds['total'])}",
        *(
            [f"{megabytes(saved)} did not cross the network: packed, or holes"]
            if (saved := report.get("savedBytes"))
            else []
        ),
        _dollars(cost),
        *(
            [f"about {energy['wattHours']:,.1f} Wh ({energy['assumption']})"]
            if (energy := report.get("energy"))
            else []
        ),
    ]


def _fleet(fleet: dict[str, Any] | None) -> list[str]:
    """Why relays are fewer, or not the first choice; nothing where all came as wished."""
    if fleet is None or not fleet["notes"]:
        return []
    counts = f"{fleet['launched']} of {fleet['wanted']} pairs were launched"
    return [f"{counts}: {'; '.join(fleet['notes'])}"]


def _limits(course: dict[str, Any] | None) -> list[str]:
    """How people, or the timetable, changed what it may send."""
    changes = map(LimitSet.from_document, (course or {}).get("limits", []))
    told = [
        f"{limit_in_words(change.bandwidth_limit_mbps, change.by)} at +{duration(max(change.second, 0.0))}"
        for change in changes
    ]
    return [f"the limit was changed: {', '.join(told)}"] if told else []


def _dollars(cost: dict[str, Any]) -> str:
    zones = f"between zones ${cost['crossZone']:.4f}, " if cost["crossZone"] else ""
    return (
        f"on AWS: ${cost['total']:.4f} (relays ${cost['relays']:.4f}, egress ${cost['egress']:.4f}, {zones}"
        f"control plane ${cost['controlPlane']:.4f}); estimated ${cost['estimate']:.4f}"
    )


def _measured(report: dict[str, Any]) -> list[str]:
    measured = report["measured"]
    pairs = [
        f"{pair['pathId']}: {pair['interRegionMBps']:,.1f} MB/s between the regions, "
        f"{pair['intraRegionMBps']:,.1f} MB/s from the source to it, ready after {duration(pair['spawnSeconds'])}"
        for pair in measured["pairs"]
    ]
    return [
        f"measured, nothing moved; direct path: {measured['directMBps']:,.1f} MB/s",
        *pairs,
        *(_link(link) for link in measured.get("links", [])),
        f"{megabytes(measured['sentBytes'])} of probes, all done after {duration(report['seconds']['total'])}",
        _dollars(report["cost"]),
    ]


def _link(link: dict[str, Any]) -> str:
    rate = f"{link['interRegionMBps']:,.1f} MB/s" if link["interRegionMBps"] else f"not measured, {link['error']}"
    return f"{link['fromRegion']} to {link['toRegion']}: {rate}"


def _stage_bars(stages: list[dict[str, Any]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    longest = max((stage["seconds"] for stage in stages), default=0.0) or 1.0
    for stage in stages:
        bar = Text("█" * round(BAR_WIDTH * stage["seconds"] / longest), style="blue")
        grid.add_row(f"  {stage['stage']}", duration(stage["seconds"]), bar)
    return grid
