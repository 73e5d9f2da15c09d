"""What people see: the live view, the report."""

from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from cli import copies_view
from cli.console import Text, line
from cli.fitting import Fitted
from cli.options import and_local
from lambdas.core.chunks.skipped import SkippedEntry
from lambdas.core.estimate.first_contact import RelayDecision
from lambdas.core.failures import advice
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.record.pause import PauseSpan
from lambdas.core.report.asked import moved
from lambdas.core.report.route_report import RouteShare
from lambdas.core.report.seat_report import SeatReport
from lambdas.core.report.timeline import LimitSet
from lambdas.core.request.bandwidth import limit_in_words
from lambdas.core.request.deletion import Deleted, WouldDelete, in_words
from lambdas.core.request.request import TransferRequest
from lambdas.core.restores.summary import Restores
from lambdas.core.transfer.seat import role_of
from lambdas.core.words import dollars, duration, many, moment, size

BAR_WIDTH = 24


_STATUS_STYLES = {"SUCCEEDED": "bold green", "SUCCEEDED_WITH_SKIPS": "bold yellow"}


def report_view(report: dict[str, Any]) -> RenderableType:
    """The summary: time and cost against the estimate, wall time per stage as bars."""
    style = _STATUS_STYLES.get(report["status"], "bold red")
    lines = [Text(f"{report['status']}: {report['transferId']}", style=style)]
    if report.get("request"):
        lines += [line(sentence) for sentence in _asked(TransferRequest.from_document(report["request"]))]
    if report.get("error"):
        lines += [line(said, style="red") for said in failure_lines(report["error"], report.get("cause") or "")]
        lines.append(Text(f"What to do: {advice(report['error'])}"))
    if empty := report.get("emptySource"):
        lines.append(line(empty, style="yellow"))
    if report.get("budget", {}).get("decision") == "direct":
        lines.append(line(report["budget"]["cause"], style="yellow"))
    lines += [line(sentence, style="yellow") for sentence in _skipped(report.get("skipped"))]
    if told := copies_view.sentences(report):
        lines += [line(sentence) for sentence in told]
    elif report.get("measured"):
        lines += [line(sentence) for sentence in _measured(report)]
    elif report.get("dryRun"):
        lines += [line(sentence) for sentence in _dry_run(report)]
    elif report["bytes"]:
        lines += [line(sentence) for sentence in _summary(report)]
    elif report["files"]:
        lines.append(line(_moved(report)))
    lines += [line(sentence, style="yellow") for sentence in _limits(report.get("course"))]
    lines += [line(sentence, style="yellow") for sentence in _pauses(report.get("pauses"))]
    if (same := report.get("same")) and not report.get("dryRun"):
        lines.append(
            line(f"{many(same['files'], 'file')}, {size(same['bytes'])}, were there already and were not sent")
        )
    if left := report.get("leftAlone"):
        lines.append(line(f"left alone: {left['entries']:,}, {size(left['bytes'])} at the source, by overwrite"))
    if restores := report.get("restores"):
        lines.append(line(Restores.from_document(restores).outcome_in_words))
    if waits := report.get("unfinished"):
        lines.append(line(_unfinished(waits), style="yellow"))
    lines += [line(sentence) for sentence in _deleted(report.get("deleted"))]
    if kept := report.get("kept"):
        count = f"{kept['entries']:,}" if "entries" in kept else "not counted"
        lines.append(line(f"kept of what was replaced or deleted: {count}, in {kept['where']}"))
    if copied := report.get("copied"):
        why = "a machine that was given up might still have written into them"
        lines.append(
            line(f"copied anew: {size(copied['bytes'])} of large files in {copied['seconds']:.1f} s, since {why}")
        )
    if unselected := report.get("unselected"):
        counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(unselected["counts"].items()))
        lines.append(line(f"not selected: {counts}; listed in {unselected['where']}"))
    if unkept := report.get("unkept"):
        counts = ", ".join(f"{name} of {count:,} entries" for name, count in sorted(unkept.items()))
        lines.append(line(f"extended attributes that were not kept: {counts}"))
    lines += [_machine(SeatReport.from_document(one)) for one in report.get("seats") or []]
    lines += [line(_way(RouteShare.from_document(one))) for one in report.get("routes", [])]
    lines += [line(RelayDecision.from_document(one).words()) for one in report.get("decisions", [])]
    lines += [line(sentence, style="yellow") for sentence in _fleet(report.get("fleet"))]
    return Group(*lines, Text("Wall time per stage", style="bold"), _stage_bars(report["stages"]))


def _unfinished(waits: dict[str, Any]) -> str:
    """What waits in a bucket for the next run."""
    until = datetime.fromtimestamp(waits["until"], UTC).strftime("%Y-%m-%d")
    return (
        f"unfinished in the bucket: {many(waits['uploads'], 'upload')}, {size(waits['bytes'])}, "
        f"{dollars(waits['usdPerMonth'])} a month; resume the transfer, or they are aborted after {until}"
    )


def failure_lines(error: str, cause: str) -> list[str]:
    """The cause below its error; no line of it begins where one of ours does."""
    first, *more = cause.split("\n")
    return [f"{error}: {first}", *(f"  {problem}" for problem in more)]


def _asked(request: TransferRequest) -> list[str]:
    """What people call it, and what was to be moved where."""
    source, destination = moved(request)
    tags = ", ".join(f"{key}: {value}" for key, value in sorted(request.tags.items()))
    return [*filter(None, [request.label, tags]), f"from {source} to {destination}"]


def _dry_run(report: dict[str, Any]) -> list[str]:
    """What would be done, one action a line; nothing was."""
    found, estimate = report["dryRun"], report["estimate"]
    said = {"new": "new", "changed": "changed", "equal": "equal, not sent"}
    lines = [
        f"{words}: {many(one['files'], 'file')}, {size(one['bytes'])}"
        + (f", {duration(one['seconds'])}, {dollars(one['costUsd'])}" if one["seconds"] else "")
        for name, words in said.items()
        if (one := found[name])["files"]
    ]
    return [
        "dry run: nothing was moved, and no relay was launched",
        *lines,
        f"all of it with {many(estimate['chosenPairs'], 'pair')}: {duration(report['seconds']['estimate'])}, "
        f"{dollars(report['cost']['estimate'])}",
        *_left(found.get("left")),
        f"what would be sent is listed in {found['where']}",
        *_would_delete(found.get("deleted")),
        f"this run cost {dollars(report['cost']['total'])}",
    ]


def _left(found: dict[str, Any] | None) -> list[str]:
    """How long a transfer of what is left would take; nothing in a report of an earlier version."""
    if found is None:
        return []
    span = f"{duration(found['wholeSecondsLow'])} to {duration(found['wholeSecondsHigh'])}"
    return [f"from its start to its report it would take about {duration(found['wholeSeconds'])} ({span})"]


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
        f"to delete these and no others, confirm their digest{most}:",
        f"  cpt start REQUEST --confirm-delete {extras.digest}{and_local()}",
    ]


def _deleted(found: dict[str, Any] | None) -> list[str]:
    """What became of the extras; nothing where there were none."""
    if found is None:
        return []
    deleted = Deleted.from_document(found)
    lines = [f"{deleted.entries:,} extras, {size(deleted.bytes)}, were deleted; listed in {deleted.where}"]
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


# Said beside the verdict; of a digest nothing is.
_PROOFS = {"readback": "read back", "crc64": "by checksum"}


def _moved(report: dict[str, Any]) -> str:
    """What was moved; a tree of links and empty files has no bytes."""
    stored = "stored checksums" if report.get("storedChecksums") else None
    proofs = [proof for proof in (_PROOFS.get(report.get("verification", "")), stored) if proof]
    return (
        f"{size(report['bytes'])} in {many(report['files'], 'entry', 'entries')} "
        f"and {many(report['chunks'], 'chunk')}, "
        f"{report['retries']} retried; verified: {'yes' if report['verified'] else 'no'}"
    ) + (f" ({', '.join(proofs)})" if proofs else "")


def _summary(report: dict[str, Any]) -> list[str]:
    seconds, cost = report["seconds"], report["cost"]
    return [
        _moved(report),
        f"{duration(seconds['transfer'])} of data at {report['rateMBps']:,.1f} MB/s "
        f"on the direct path and {many(report['pairs'], 'relay pair')}",
        f"estimated {duration(seconds['estimate'])}{_became(report.get('estimate') or {})}{_alone(report)}",
        f"first byte after {duration(seconds['firstByte'])}, all done after {duration(seconds['total'])}",
        *(
            [f"{size(saved)} did not cross the network: packed, or holes"]
            if (saved := report.get("savedBytes"))
            else []
        ),
        _dollars(cost),
        *([_pooled(pool)] if (pool := report.get("pool")) else []),
        *(
            [f"about {energy['wattHours']:,.1f} Wh ({energy['assumption']})"]
            if (energy := report.get("energy"))
            else []
        ),
    ]


def _pooled(pool: dict[str, Any]) -> str:
    """What went through the pool, and its price at the start."""
    price = PoolPrice.from_document(pool["price"])
    late = "; it started at its latest time, at a higher price than it had asked for" if price.is_overdue else ""
    each = ", ".join(f"${usd:.3g} in {region}" for region, usd in sorted(price.sides.items()))
    return f"{size(pool['bytes'])} went through the pool for {dollars(pool['usd'])}: per GB {each}{late}"


def _alone(report: dict[str, Any]) -> str:
    """What the direct path would have taken; without relays there is nothing to set beside it."""
    direct = report["seconds"]["directEstimate"]
    if not report["pairs"]:
        return ""
    times = direct / max(report["seconds"]["transfer"], 0.001)
    return f"; the direct path alone would take {duration(direct)} ({times:.2f} × as long)"


def _machine(seat: SeatReport) -> Text:
    """A machine of an end that has several, or whose other end has."""
    does = "sent" if role_of(seat.seat_id) == "sender" else "received"
    said = [
        f"{seat.seat_id} {seat.instance_id} ({seat.availability_zone}) {does} {size(seat.bytes)}, "
        f"{100 * seat.share:.0f} %, at {seat.rate:,.1f} MB/s"
    ]
    if seat.restarts:
        said.append(f"started again {many(seat.restarts, 'time')}")
    if seat.trouble:
        said.append(f"last error: {seat.trouble}")
    if seat.retired_at is None:
        return line(_one_line(said))
    at = datetime.fromtimestamp(seat.retired_at, UTC)
    left, style = ("drained", "") if seat.drained else ("given up", "yellow")
    said.append(f"{left} at {at:%Y-%m-%d %H:%M:%S} UTC: {seat.retired_because or 'it was lost'}")
    return line(_one_line(said), style=style)


def _one_line(said: list[str]) -> str:
    """What a machine printed may have several; none of them is to look like one of ours."""
    return " ".join("; ".join(said).splitlines())


def _way(way: RouteShare) -> str:
    return f"{way.words}: {100 * way.share:.0f} % of the bytes by {way.relays} relays, egress {dollars(way.egress_usd)}"


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


def _pauses(pauses: list[dict[str, Any]] | None) -> list[str]:
    """From when to when people have paused it."""
    told = [
        f"from {moment(one.since)} " + (f"to {moment(one.until)}" if one.until is not None else "until it ended")
        for one in map(PauseSpan.from_document, pauses or [])
    ]
    return [f"it was paused {', '.join(told)}"] if told else []


def _became(estimate: dict[str, Any]) -> str:
    """What the first choice became."""
    first, pairs = estimate.get("firstChoice"), estimate.get("chosenPairs", 0)
    return (
        f" with {many(first['pairs'], 'pair')}, later {many(pairs, 'pair')}"
        if first and first["pairs"] != pairs
        else ""
    )


def _dollars(cost: dict[str, Any]) -> str:
    asked = f", requests to the bucket {dollars(cost['requests'])}" if "requests" in cost else ""
    asked += f", file systems {dollars(cost['fileSystems'])} at most" if "fileSystems" in cost else ""
    asked += f", pool {dollars(cost['pool'])}" if "pool" in cost else ""
    zones = f"between zones {dollars(cost['crossZone'])}, " if cost["crossZone"] else ""
    return (
        f"on AWS: {dollars(cost['total'])} (relays {dollars(cost['relays'])}, egress {dollars(cost['egress'])}, {zones}"
        f"control plane {dollars(cost['controlPlane'])}{asked}); estimated {dollars(cost['estimate'])}"
    )


def _inside(rate: float) -> str:
    """From the source to a pair; nothing where the fastest pair alone was asked."""
    return f"{rate:,.1f} MB/s from the source to it, " if rate else ""


def _measured(report: dict[str, Any]) -> list[str]:
    measured = report["measured"]
    pairs = [
        f"{pair['pathId']}: {pair['interRegionMBps']:,.1f} MB/s between the regions, "
        f"{_inside(pair['intraRegionMBps'])}ready after {duration(pair['spawnSeconds'])}"
        for pair in measured["pairs"]
    ]
    return [
        f"measured, nothing moved; direct path: {measured['directMBps']:,.1f} MB/s",
        *pairs,
        *(_link(link) for link in measured.get("links", [])),
        f"{size(measured['sentBytes'])} of probes, all done after {duration(report['seconds']['total'])}",
        _dollars(report["cost"]),
    ]


def _link(link: dict[str, Any]) -> str:
    rate = f"{link['interRegionMBps']:,.1f} MB/s" if link["interRegionMBps"] else f"not measured, {link['error']}"
    return f"{link['fromRegion']} to {link['toRegion']}: {rate}"


def _stage_bars(stages: list[dict[str, Any]]) -> RenderableType:
    grid = Table.grid("stage", "took", "bar", padding=(0, 2))
    longest = max((stage["seconds"] for stage in stages), default=0.0) or 1.0
    for stage in stages:
        bar = Text("█" * round(BAR_WIDTH * stage["seconds"] / longest), style="blue")
        grid.add_row(f"  {stage['stage']}", duration(stage["seconds"]), bar)
    return Fitted(grid, bars=["bar"])
