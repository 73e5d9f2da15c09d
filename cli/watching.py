"""Follow one execution until it ends."""

import json
import time
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.live import Live

from cli.aws import Aws
from cli.render import (
    approval_line,
    estimate_table,
    live_view,
    make_console,
    measuring_line,
    megabytes,
)
from cli.transfer_state import TransferState, describe, read_state
from lambdas.core.words import duration

LOOK_SECONDS = 0.5  # the ends report every two seconds; a look is one query
PLAIN_LINE_SECONDS = 5.0  # where nothing can be redrawn, a line now and then


def watch_execution(aws: Aws, arn: str, *, as_json: bool = False) -> dict[str, Any]:
    """Show the estimate once and the progress until the end; returns the execution's description."""
    execution = describe(aws, arn)
    transfer_id = str(json.loads(execution["input"]).get("name") or execution["name"])
    if as_json:
        return _follow(aws, arn, transfer_id, lambda state: print(json.dumps(asdict(state)), flush=True))
    console = make_console()
    if not console.is_terminal:
        return _follow(aws, arn, transfer_id, PlainLines(console))
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        shown = EstimateOnce(live.console)

        def show(state: TransferState) -> None:
            shown(state)
            live.update(live_view(state))

        return _follow(aws, arn, transfer_id, show)


class EstimateOnce:
    """Prints the estimate the first time that it is there."""

    def __init__(self, console: Console) -> None:
        self._console, self._done = console, False

    def __call__(self, state: TransferState) -> None:
        """Print if it is new."""
        if state.estimate and not self._done:
            self._console.print(estimate_table(state.estimate))
            self._done = True


class PlainLines:
    """For logs and pipes: the estimate, then a line at each change of paths and every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console, self._estimate = console, EstimateOnce(console)
        self._paths: tuple[str, ...] = ()
        self._last = 0.0
        self._asked = False
        self._measuring = ""

    def __call__(self, state: TransferState) -> None:
        """Print what is new."""
        self._estimate(state)
        if state.awaits_approval and not self._asked:
            self._console.print(approval_line(state))
        self._asked = state.awaits_approval
        if state.measures and state.stage and measuring_line(state) != self._measuring:
            self._measuring = measuring_line(state)
            self._console.print(f"  {self._measuring}")
        joined = state.paths != self._paths
        if state.delivered_bytes and (joined or time.monotonic() - self._last >= PLAIN_LINE_SECONDS):
            total = megabytes(state.total_bytes or 0)
            self._console.print(
                f"  {megabytes(state.delivered_bytes):>9} of {total}  {state.megabytes_per_second:6.1f} MB/s  "
                f"{duration(state.seconds_left):>8} left  paths: {', '.join(state.paths)}",
                highlight=False,
            )
            self._paths, self._last = state.paths, time.monotonic()


def _follow(aws: Aws, arn: str, transfer_id: str, show: Any) -> dict[str, Any]:
    while True:
        execution = describe(aws, arn)
        show(read_state(aws, transfer_id))
        if execution["status"] != "RUNNING":
            return execution
        time.sleep(LOOK_SECONDS)
