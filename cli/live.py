"""The part of `cpt watch` that is drawn anew: where the transfer is now."""

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table

from cli.console import Text
from cli.fitting import Fitted, Packed
from cli.render import BAR_WIDTH
from cli.watch_events import ApprovalRequired
from lambdas.core.watch.seat_state import SeatState
from lambdas.core.watch.standing_limit import limit_words
from lambdas.core.watch.transfer_state import TransferState
from lambdas.core.words import dollars, duration, size

PROGRESS_WIDTH = 60
_BOOTING = frozenset({"SPAWNED", "READY"})


def measuring_line(state: TransferState) -> str:
    """Return what a profiling execution does: it has no bytes and no time left to show."""
    return f"measuring, nothing is moved: {state.stage or state.status}"


def live_view(state: TransferState) -> RenderableType:
    """Bytes, rate, time left, money, and a bar for each path; while it waits for a person, what they have to do."""
    if state.awaits_approval:
        return Text(ApprovalRequired(transfer_id=state.transfer_id).words(), style="bold yellow")
    if state.is_profiling:
        return Text.assemble((f"{state.transfer_id}  ", "bold"), measuring_line(state))
    head = Text.assemble((f"{state.transfer_id}  ", "bold"), state.doing)
    if state.total_bytes is None:
        return head
    return Group(head, _Progress(state), _numbers(state), _paths(state), *_machines(state), *_relays(state))


@dataclass(frozen=True)
class _Progress:
    """The bar, as wide as there is room for."""

    state: TransferState

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        total, done = max(self.state.total_bytes or 0, 1), self.state.delivered_bytes
        share = f"{100 * done / total:3.0f} %"
        line = Table.grid(padding=(0, 1))  # a bare bar ends without a line break
        width = min(PROGRESS_WIDTH, options.max_width - len(share) - 1)
        line.add_row(ProgressBar(total=total, completed=done, width=width), share)
        yield line


def _numbers(state: TransferState) -> Packed:
    limit = limit_words(state.bandwidth_limit_mbps, state.timetable)
    return Packed(
        [
            Text(f"{size(state.delivered_bytes)} of {size(state.total_bytes or 0)}"),
            Text.assemble((f"{state.megabytes_per_second:,.1f} MB/s", "bold green"), limit),
            Text(f"{duration(state.seconds_left)} left"),
            *_money(state),
        ]
    )


def _money(state: TransferState) -> list[Text]:
    """The meter looks once a minute: a transfer that is over before has no figure yet."""
    if state.spent_usd is None:
        return []
    chosen = state.chosen
    estimated = f" of {dollars(chosen['costUsd'])} estimated" if chosen else ""
    return [Text(f"{dollars(state.spent_usd)} spent{estimated}")]


def _paths(state: TransferState) -> Fitted:
    grid = Table.grid(padding=(0, 2))
    grid.add_column("path")
    grid.add_column("bar", width=BAR_WIDTH)
    grid.add_column("rate", justify="right")
    grid.add_column("lanes")
    by_path: dict[str, list[float]] = {path: [] for path in state.paths}
    for lane in state.lanes:
        by_path.setdefault(lane.path_id, []).append(lane.megabytes_per_second)
    widest = max((sum(rates) for rates in by_path.values()), default=0.0) or 1.0
    for path, rates in sorted(by_path.items()):
        bar = Text("█" * round(BAR_WIDTH * sum(rates) / widest), style="cyan")
        grid.add_row(path, bar, f"{sum(rates):,.1f} MB/s", Text(_lanes(rates), style="dim"))
    return Fitted(grid, bars=["bar"], sentences=["lanes"])


def _lanes(rates: list[float]) -> str:
    if len(rates) < 2:
        return "1 lane" if rates else "no lane yet"
    return f"{len(rates)} lanes: {', '.join(f'{rate:,.1f}' for rate in rates)}"


def _machines(state: TransferState) -> list[Fitted]:
    """Each machine's part, where an end has several; nothing where each end is one."""
    if len(state.seats) <= 2:
        return []
    grid = Table.grid(padding=(0, 2))
    for name in ("machine", "bar"):
        grid.add_column(name, width=BAR_WIDTH if name == "bar" else None)
    for name in ("share", "rate"):
        grid.add_column(name, justify="right")
    grid.add_column("said")
    for sends in (True, False):
        seats = [seat for seat in state.seats if seat.sends is sends]
        whole = sum(seat.delivered_bytes for seat in seats) or 1
        for seat in seats:
            share = seat.delivered_bytes / whole
            bar = Text("█" * round(BAR_WIDTH * share), style="green" if sends else "blue")
            rate = f"{seat.megabytes_per_second:,.1f} MB/s"
            grid.add_row(f"{seat.seat_id} {seat.instance_id}", bar, f"{100 * share:.0f} %", rate, _said(seat))
    return [Fitted(grid, bars=["bar"], sentences=["said"])]


def _said(seat: SeatState) -> Text:
    if seat.is_drained:
        return Text(seat.words, style="dim")
    if seat.is_retired:
        return Text(f"{seat.words}{f': {seat.last_error}' if seat.last_error else ''}", style="red")
    if seat.last_error:
        return Text(seat.last_error, style="yellow")
    return Text(seat.words, style="dim")


def _relays(state: TransferState) -> list[Text]:
    """Return how many of the relays do what; nothing where there are none."""
    counts = {
        "carry": sum(relay.state == "JOINED" for relay in state.relays),
        "start": sum(relay.state in _BOOTING for relay in state.relays),
        "drain": sum(relay.state == "DRAINING" for relay in state.relays),
        "left": sum(relay.ended_at is not None for relay in state.relays),
    }
    words = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return [Text(f"relays: {words}", style="dim")] if words else []
