"""`cpt seats`: the machines at the ends of a transfer that has several, and what may be done about them."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from cli.aws import home
from cli.calls import call
from cli.completion import Transfer
from cli.console import Text, make_console, say
from cli.executions import find, transfer_id
from cli.exit_codes import ExitCode
from cli.fitting import Fitted
from cli.judging import judge_input
from cli.options import AsJson, Local, and_local
from cli.state_reading import read_state
from lambdas.core.request.draining import DrainRequest
from lambdas.core.watch.seat_state import SeatState
from lambdas.core.words import size

FUNCTION = "drain-seat"
app = typer.Typer(no_args_is_help=True, help="The machines at the ends of a transfer: list them, or take one back.")

Machine = Annotated[str, typer.Argument(metavar="INSTANCE", help="The machine's instance id: i-…")]


@app.command(name="list")
def list_(name: Transfer, *, local: Local = False, as_json: AsJson = False) -> None:
    """Show each machine: what it does, what it has moved, and whether it was drained or given up."""
    aws = home(local=local)
    execution = find(aws, name)
    state = read_state(aws, transfer_id(execution), execution["executionArn"])
    if as_json:
        for seat in state.seats:
            say(json.dumps(_document(seat)))
        return
    if state.seats:
        make_console().print(Fitted(_table(state.seats), sentences=["says"]))
    else:
        say(f"{name} has no machine at its ends that is known; its status is {state.status}")


@app.command()
def drain(
    name: Transfer,
    machine: Machine,
    *,
    reason: Annotated[str, typer.Option(help="Reason; the report has it.")] = "a person has drained it",
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Take a machine back while its transfer goes on with the others of its end; nothing that has arrived is lost."""
    asked = {"transferId": name, "instanceId": machine.strip(), "reason": reason}
    judge_input(DrainRequest, asked)
    answer = call(home(local=local), FUNCTION, asked)
    say(json.dumps(answer) if as_json else _words(answer))


@app.command()
def add(name: Transfer, machine: Machine, *, local: Local = False) -> NoReturn:
    """Refuse, and say what to do: no machine can join a transfer that runs."""
    say(
        f"cpt: {machine} cannot join '{name}': what the machines of a transfer share is under a key that names all of "
        f"them, and has been since it began. Let it end or cancel it (cpt cancel {name}{and_local()}), then start a "
        f"transfer that names {machine} at that end too: what has arrived is compared, and not sent again",
        err=True,
    )
    raise typer.Exit(ExitCode.USAGE)


def _document(seat: SeatState) -> dict[str, Any]:
    """A line of `--json`."""
    document: dict[str, Any] = {
        "seatId": seat.seat_id,
        "instanceId": seat.instance_id,
        "region": seat.region,
        "end": "source" if seat.sends else "destination",
        "state": seat.condition,
        "bytes": seat.delivered_bytes,
        "rateMBps": seat.megabytes_per_second,
    }
    told = {"retiredAt": seat.retired_at, "retiredBecause": seat.retired_because, "lastError": seat.last_error}
    return document | {key: value for key, value in told.items() if value is not None}


def _table(seats: tuple[SeatState, ...]) -> Table:
    shown = Table(box=SIMPLE_HEAD)
    for heading in ("seat", "machine", "region"):
        shown.add_column(heading, no_wrap=True)
    for heading in ("bytes", "rate"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("says")
    for seat in seats:
        rate = f"{seat.megabytes_per_second:,.1f} MB/s"
        shown.add_row(seat.seat_id, seat.instance_id, seat.region, size(seat.delivered_bytes), rate, Text(_says(seat)))
    return shown


def _says(seat: SeatState) -> str:
    if seat.retired_at is not None:
        return f"{seat.words} since {_at(seat.retired_at)}: {seat.retired_because}"
    return f"{seat.words}; {seat.last_error}" if seat.last_error else seat.words


def _at(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _words(answer: dict[str, Any]) -> str:
    machine, name = f"{answer['instanceId']} ({answer['seatId']})", answer["transferId"]
    if answer["changed"]:
        then = f"cpt seats list {name}{and_local()} shows it as drained once its daemon has ended"
        return f"{machine} takes no more of {name} and hands over to the others; {then}"
    left = "drained" if answer["drained"] else "given up"
    at = _at(float(answer["retiredAt"]))
    return f"{machine} was {left} at {at}: {answer['retiredBecause']}; nothing was changed"
