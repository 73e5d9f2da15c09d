"""`cpt schedule`: transfers that start at set times, added and removed without a deployment."""

import json
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from botocore.exceptions import ClientError
from rich.box import SIMPLE_HEAD
from rich.table import Table

from cli.aws import Aws, home
from cli.calls import refuse
from cli.console import make_console, say
from cli.executions import machine_arn
from cli.judging import environment, limits
from cli.options import AsJson, Local, and_local
from cli.request_file import read_request
from lambdas.adapters.start_schedules import FoundSchedule, StartSchedules
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.templates import ScheduleStart, read_schedule
from lambdas.core.watch.moved import from_and_to

# What the fields of a schedule are called on the command line.
_OPTIONS = {"$.name": "NAME", "$.expression": "--expression", "$.timeZone": "--time-zone", "$.request": "$"}

app = typer.Typer(no_args_is_help=True, help="Transfers that start at set times; no deployment is needed.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule: lower-case letters, digits, dashes.")]
Expression = Annotated[
    str | None,
    typer.Option(
        metavar="EXPRESSION", help='"cron(30 2 * * ? *)" or "rate(6 hours)", as EventBridge Scheduler has it.'
    ),
]
TimeZone = Annotated[
    str | None, typer.Option(metavar="ZONE", help="Zone of the expression, e.g. Europe/Berlin. Default: UTC.")
]


@app.command()
def add(
    name: Name,
    request: Annotated[Path, typer.Argument(help="The request of each transfer.", exists=True, dir_okay=False)],
    *,
    expression: Expression,
    time_zone: TimeZone = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Add a schedule: `cpt schedule add nightly request.json --expression "cron(30 2 * * ? *)"`.

    A rate begins at once: the first transfer starts as soon as it is added.
    """
    aws = home(local=local)
    written = {"name": name, "expression": expression, "request": read_request(request)}
    start = _judged(aws, written | ({} if time_zone is None else {"timeZone": time_zone}))
    schedules = _schedules(aws)
    if schedules.deployed(name) is not None:
        _refuse(f"NAME: '{name}' is a schedule of the settings (cpt.starts.schedules); choose another name")
    try:
        is_new = schedules.add(start)
    except ClientError as error:
        _refuse_expression(start, error)
    if not is_new:
        _refuse(f"NAME: '{name}' was added before: cpt schedule change{and_local()} changes it; or choose another name")
    _tell(start, "added", as_json=as_json)


@app.command()
def change(
    name: Name,
    request: Annotated[
        Path | None, typer.Argument(help="The request from now on. Default: as before.", exists=True, dir_okay=False)
    ] = None,
    *,
    expression: Expression = None,
    time_zone: TimeZone = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Change a schedule that was added; what is not given stays as it is. The whole is judged again."""
    aws = home(local=local)
    schedules = _schedules(aws)
    found = _added(schedules, name)
    if found.request is None:
        _refuse(f"NAME: '{name}' was not made by cpt: it invokes {found.target}; remove it, or leave it alone")
    new = {
        "request": None if request is None else read_request(request),
        "expression": expression,
        "timeZone": time_zone,
    }
    before = {"request": found.request, "expression": found.expression, "timeZone": found.time_zone}
    start = _judged(aws, {"name": name, **before, **{key: value for key, value in new.items() if value is not None}})
    try:
        schedules.change(start, found.state)
    except ClientError as error:
        _refuse_expression(start, error)
    _tell(start, "changed", as_json=as_json)


@app.command(name="list")
def list_(*, local: Local = False, as_json: AsJson = False) -> None:
    """Show all schedules: those that were added, and those of the settings ("deployed")."""
    found = list(_schedules(home(local=local)).all())
    if as_json:
        for one in found:
            say(json.dumps(one.to_document()))
    else:
        make_console().print(_table(found) if found else "no schedule starts transfers")


@app.command()
def remove(name: Name, *, local: Local = False, as_json: AsJson = False) -> None:
    """Remove a schedule that was added; a transfer that it has started runs on."""
    schedules = _schedules(home(local=local))
    _added(schedules, name)
    schedules.remove(name)
    say(json.dumps({"name": name, "removed": True}) if as_json else f"removed {name}; it starts nothing any more")


def _schedules(aws: Aws) -> StartSchedules:
    return StartSchedules(aws.client("scheduler"), aws.deployment, machine_arn(aws), aws.tenant)


def _judged(aws: Aws, written: dict[str, Any]) -> ScheduleStart:
    """The schedule; ends the command where its transfers would be refused."""
    known = environment(aws)
    try:
        return read_schedule(written, limits(known, written["request"]), None if known is None else known.buckets)
    except InvalidRequest as error:
        _refuse("\n".join(_in_options(problem) for problem in error.problems))


def _in_options(problem: str) -> str:
    for field, option in _OPTIONS.items():
        if problem.startswith(field):
            return option + problem.removeprefix(field)
    return problem


def _added(schedules: StartSchedules, name: str) -> FoundSchedule:
    found = schedules.added(name)
    if found is None and schedules.deployed(name) is not None:
        _refuse(
            f"NAME: '{name}' is a schedule of the settings; change cpt.starts.schedules.{name} in cdk.json, and deploy"
        )
    if found is None:
        _refuse(f"NAME: there is no schedule '{name}'; cpt schedule list{and_local()} shows all")
    return found


def _refuse_expression(start: ScheduleStart, error: ClientError) -> NoReturn:
    """What no pattern sees, e.g. the 31st of February, Scheduler says."""
    if error.response["Error"]["Code"] != "ValidationException":
        raise error
    said = error.response["Error"].get("Message", "")
    _refuse(f"--expression: '{start.expression}' in {start.time_zone}: EventBridge Scheduler refuses it: {said}")


def _refuse(problem: str) -> NoReturn:
    refuse(InvalidRequest.__name__, problem)


def _tell(start: ScheduleStart, done: str, *, as_json: bool) -> None:
    if as_json:
        say(json.dumps(start.to_document()))
        return
    begins = "; its first transfer starts at once" if done == "added" and start.expression.startswith("rate") else ""
    say(f"{done} {start.name}: {start.expression} in {start.time_zone}{begins}")


def _table(found: list[FoundSchedule]) -> Table:
    shown = Table(box=SIMPLE_HEAD)
    shown.add_column("name", overflow="fold")
    for heading in ("origin", "when", "zone", "state"):
        shown.add_column(heading, no_wrap=True)
    shown.add_column("from and to", overflow="fold")
    for one in found:
        ends = None if one.request is None else from_and_to(one.request)
        about = f"invokes {one.target}" if one.request is None else "\n→ ".join(ends or ())
        shown.add_row(one.name, one.origin, one.expression, one.time_zone, one.state.lower(), about)
    return shown
