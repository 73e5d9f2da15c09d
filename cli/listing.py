"""`cpt list`: transfers that run and that have run."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from cli.aws import Aws, home
from cli.console import Text, make_console, say
from cli.executions import asked_arn, find_by_arn, label, transfer_id
from cli.fitting import Fitted
from cli.options import AsJson, Local, and_local
from cli.state_reading import read_state
from lambdas.core.watch.moved import from_and_to
from lambdas.core.watch.transfer_state import TransferState
from lambdas.core.words import dollars, duration, size

Status = Literal["running", "succeeded", "failed", "aborted", "timed_out"]
_STYLES = {"SUCCEEDED": "green", "RUNNING": "bold cyan", "ABORTED": "yellow"}


@dataclass(frozen=True)
class Listed:
    """One execution; `state` only of those that run."""

    name: str
    status: str
    started_at: datetime
    seconds: float
    state: TransferState | None = None
    label: str | None = None
    source: str | None = None
    destination: str | None = None
    """Where from and to, as the request says it: `i-0123456789abcdef0:/data`; None of a request that does not."""
    error: str | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the entry as a line of `--json`."""
        document: dict[str, Any] = {
            "name": self.name,
            "status": self.status,
            "startedAt": self.started_at.timestamp(),
            "seconds": round(self.seconds, 3),
        }
        told = {"label": self.label, "source": self.source, "destination": self.destination, "error": self.error}
        document |= {key: value for key, value in told.items() if value is not None}
        if self.state is not None:
            document |= {
                "stage": self.state.stage,
                "bytes": self.state.delivered_bytes,
                "totalBytes": self.state.total_bytes,
                "rateMBps": self.state.megabytes_per_second,
                "spentUsd": self.state.spent_usd,
            }
        return document


def list_(
    *,
    status: Annotated[
        Status | None, typer.Option(case_sensitive=False, help="Show only transfers of this status (default: all).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show this many at most, the latest first.")] = 20,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Show transfers, the latest first; of those that run, where they are."""
    found = listed(home(local=local), status, limit, datetime.now(UTC))
    if as_json:
        for entry in found:
            say(json.dumps(entry.to_document()))
        return
    rows = list(found)
    if rows:
        make_console().print(Fitted(table(rows), sentences=["now", "from and to"]))
    else:
        say(f"no transfers; start one with: cpt start REQUEST{and_local()}")


def listed(aws: Aws, status: Status | None, limit: int, now: datetime) -> Iterator[Listed]:
    """Up to `limit` executions, the latest first."""
    client = aws.client("stepfunctions")
    chosen = {} if status is None else {"statusFilter": status.upper()}
    pages = client.get_paginator("list_executions").paginate(stateMachineArn=asked_arn(aws), **chosen)
    for execution in islice((item for page in pages for item in page["executions"]), limit):
        runs = execution["status"] == "RUNNING"
        ended = now if runs else execution["stopDate"]
        described = find_by_arn(aws, execution["executionArn"])
        source, destination = _ends(described["input"])
        yield Listed(
            name=execution["name"],
            status=execution["status"],
            started_at=execution["startDate"],
            seconds=max((ended - execution["startDate"]).total_seconds(), 0.0),
            state=_state(aws, described) if runs else None,
            source=source,
            destination=destination,
            error=described.get("error"),
            label=label(described),
        )


def _ends(written: str) -> tuple[str | None, str | None]:
    try:
        request = json.loads(written)
    except ValueError:
        return None, None
    return from_and_to(request) or (None, None)


def _state(aws: Aws, described: dict[str, Any]) -> TransferState:
    return read_state(aws, transfer_id(described), described["executionArn"])


def table(rows: Iterable[Listed]) -> Table:
    """For people; times are those of the reader's clock."""
    shown = Table(box=SIMPLE_HEAD)
    shown.add_column("name", overflow="fold")
    for heading in ("status", "started"):
        shown.add_column(heading, no_wrap=True)
    for heading in ("took", "moved"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("now")
    shown.add_column("from and to", overflow="fold")
    for row in rows:
        moved, now = _progress(row.state) if row.state else ("", row.error or "")
        shown.add_row(
            Text.assemble(row.name, *([(f"\n{row.label}", "dim")] if row.label else [])),
            Text(row.status.lower(), style=_STYLES.get(row.status, "red")),
            row.started_at.astimezone().strftime("%Y-%m-%d %H:%M"),
            duration(row.seconds),
            moved,
            now,
            f"{row.source}\n→ {row.destination}" if row.source else "",
        )
    return shown


def _progress(state: TransferState) -> tuple[str, str]:
    if state.awaits_approval:
        return "", "waits for approval"
    moved = f"{size(state.delivered_bytes)} of {size(state.total_bytes)}" if state.total_bytes else ""
    pace = []
    if state.megabytes_per_second:
        pace += [f"{state.megabytes_per_second:,.1f} MB/s", f"{duration(state.seconds_left)} left"]
    if state.spent_usd is not None:
        pace.append(dollars(state.spent_usd))
    return moved, "\n".join(filter(None, [state.doing, ", ".join(pace)]))
