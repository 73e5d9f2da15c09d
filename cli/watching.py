"""`cpt watch`: follow one execution until it ends, from its durable records alone."""

import time
from collections.abc import Callable
from typing import Any

import typer
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.exceptions import HTTPClientError
from rich.console import Console
from rich.live import Live

from cli.aws import Aws, home
from cli.console import Text, make_console, say
from cli.estimate_view import estimate_table
from cli.executions import find, find_by_arn, transfer_id
from cli.exit_codes import ExitCode, exit_code
from cli.live import live_view, measuring_line
from cli.options import AsJson, Local, and_local
from cli.reporting import Name, finish, read_report
from cli.state_reading import read_state
from cli.watch_events import Ended, Estimated, Told, Untold, happened, in_words, progress
from lambdas.core.watch.transfer_state import TransferState
from lambdas.core.words import duration

LOOK_SECONDS = 0.5  # the ends report every two seconds; a look is three calls
PLAIN_LINE_SECONDS = 5.0  # where nothing can be redrawn, a line now and then
# Between looks while AWS does not answer: a laptop that was closed finds its network again within seconds.
RETRY_SECONDS = 2.0

Show = Callable[[TransferState], None]


def watch(name: Name, *, local: Local = False, as_json: AsJson = False) -> None:
    """Show bytes, rate, time left, money, lanes and relays until the transfer ends; can be left and come back to."""
    aws = home(local=local)
    watch_to_the_end(aws, find(aws, name)["executionArn"], as_json=as_json)


def watch_to_the_end(aws: Aws, arn: str, *, as_json: bool) -> None:
    """Watch, tell the outcome, and exit with its code; Ctrl-C ends only the watching, and says so."""
    try:
        execution = watch_execution(aws, arn, as_json=as_json)
    except KeyboardInterrupt:
        name = arn.rsplit(":", 1)[-1]
        say(f"no longer watched; {name} goes on. Again: cpt watch {name}{and_local()}", err=True)
        say(f"stop: cpt cancel {name}{and_local()}", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    report = read_report(aws, execution)
    if as_json:
        ended = Ended(transfer_id=transfer_id(execution), status=str(report["status"]), report=report)
        say(ended.to_json())
        raise typer.Exit(exit_code(report))
    finish(report, as_json=False)


def watch_execution(aws: Aws, arn: str, *, as_json: bool = False) -> dict[str, Any]:
    """Show what happens until the end; returns the execution's description."""
    if as_json:
        return follow(aws, arn, JsonLines(), _tell_aside)
    console = make_console()
    if not console.is_terminal:
        return follow(aws, arn, PlainLines(console), _tell_aside)
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        lines = Lines(live.console)

        def show(state: TransferState) -> None:
            lines(state)
            live.update(live_view(state))

        return follow(aws, arn, show, lambda words: live.update(Text(words, style="yellow")))


class JsonLines:
    """Contract `watch-event`, one a line."""

    def __init__(self) -> None:
        self._untold, self._progress = Untold(), ""

    def __call__(self, state: TransferState) -> None:
        """Print what is new."""
        for event in self._untold.of(happened(state)):
            say(event.to_json())
        found = progress(state)
        line = found.to_json() if found else ""
        if line != self._progress:
            say(line)
            self._progress = line


class Lines:
    """A view of one line per event with its time since the start; the estimate is shown whole."""

    def __init__(self, console: Console) -> None:
        self._console, self._untold = console, Untold()

    def __call__(self, state: TransferState) -> None:
        """Print what is new."""
        for event, words in in_words(self._untold.of(happened(state))):
            if isinstance(event, Estimated) and state.estimate:
                self._console.print(estimate_table(state.estimate))
            else:
                self._console.print(_line(event, words, state), soft_wrap=True)


class PlainLines:
    """For logs and pipes: what happens, and where it is every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console, self._lines = console, Lines(console)
        self._last = 0.0
        self._measuring = ""

    def __call__(self, state: TransferState) -> None:
        """Print what is new."""
        self._lines(state)
        if state.is_profiling and state.stage and measuring_line(state) != self._measuring:
            self._measuring = measuring_line(state)
            self._console.print(f"  {self._measuring}")
        found = progress(state)
        if found and not state.is_profiling and time.monotonic() - self._last >= PLAIN_LINE_SECONDS:
            self._console.print(f"  {found.words()}", soft_wrap=True)
            self._last = time.monotonic()


def _line(event: Told, words: str, state: TransferState) -> Text:
    at = getattr(event, "at", None)
    began = min(state.entered.values(), default=at)
    when = "" if at is None or began is None else f"+{duration(max(at - began, 0.0))}"
    important = event.type not in ("Stage Entered", "Relay Launched")
    return Text.assemble((f"{when:>12}  ", "dim"), (words, "" if important else "dim"))


def _tell_aside(words: str) -> None:
    say(f"cpt: {words}", err=True)


def follow(aws: Aws, arn: str, show: Show, tell: Callable[[str], None]) -> dict[str, Any]:
    """Look until it has ended; `tell` says why there is nothing to show. Returns the execution's description."""
    while True:
        try:
            execution = find_by_arn(aws, arn)
            show(read_state(aws, transfer_id(execution), arn))
        except (NoConnectionError, HTTPClientError) as error:
            tell(f"AWS does not answer ({error}); the transfer goes on, and so does this")
            time.sleep(RETRY_SECONDS)
            continue
        if execution["status"] != "RUNNING":
            return execution
        time.sleep(LOOK_SECONDS)
