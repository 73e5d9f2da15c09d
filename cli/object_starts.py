"""`cpt starts`: transfers that start by objects that are written into a bucket, added without a deployment."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table as Shown

from cli.aws import Aws, home
from cli.calls import refuse
from cli.console import make_console, say
from cli.judging import environment, limits
from cli.options import AsJson, Local, and_local
from cli.request_file import read_request
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_added_starts import DynamoAddedStarts
from lambdas.adapters.start_rules import DeployedStart, StartRules
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.added_starts import AddedStarts, Listening, ObjectStart, read_object_start
from lambdas.core.watch.moved import from_and_to

# What the fields of a start are called on the command line.
_OPTIONS = {
    "$.name": "NAME",
    "$.prefix": "--prefix",
    "$.suffix": "--suffix",
    "$.windowSeconds": "--window",
    "$.bucket": "$.source.bucket",
    "$.request": "$",
}
# Whoever was slower judges once more, beside what the faster one has added.
_TRIES = 5

app = typer.Typer(no_args_is_help=True, help="Transfers that start by new objects; no deployment is needed.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the start: lower-case letters, digits, dashes.")]
Prefix = Annotated[
    str | None,
    typer.Option(metavar="PREFIX", help="Beginning of the keys. Default: the prefix of the request's source."),
]
Suffix = Annotated[str | None, typer.Option(metavar="SUFFIX", help='End of the keys, e.g. ".csv". Default: any.')]
Window = Annotated[
    int | None,
    typer.Option(
        metavar="SECONDS", help="Seconds for which objects are collected for one transfer, 10 to 3600. Default: 60."
    ),
]


@app.command()
def add(
    name: Name,
    request: Annotated[Path, typer.Argument(help="The request; its source is a bucket.", exists=True, dir_okay=False)],
    *,
    prefix: Prefix = None,
    suffix: Suffix = None,
    window: Window = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Add a start: `cpt starts add exports request.json --suffix .csv`.

    The bucket has to tell EventBridge of its objects, which its owner sets.
    """
    aws = home(local=local)
    document = read_request(request)
    written = _written(name, document, _prefix_of(document) if prefix is None else prefix, suffix, window)
    deployed = list(_rules(aws))
    if any(one.name == name for one in deployed):
        _refuse(f"NAME: '{name}' is a start of the settings (cpt.starts.objects); choose another name")

    def added(known: AddedStarts) -> tuple[AddedStarts, ObjectStart]:
        if known.named(name) is not None:
            _refuse(
                f"NAME: '{name}' was added before: cpt starts change{and_local()} changes it; or choose another name"
            )
        start = _judged(aws, written, known, deployed)
        return known.with_(start), start

    _tell(_change(aws, added), "added", as_json=as_json)


@app.command()
def change(
    name: Name,
    request: Annotated[
        Path | None, typer.Argument(help="The request from now on. Default: as before.", exists=True, dir_okay=False)
    ] = None,
    *,
    prefix: Prefix = None,
    suffix: Suffix = None,
    window: Window = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Change a start that was added; what is not given stays as it is. The whole is judged again."""
    aws = home(local=local)
    deployed = list(_rules(aws))
    document = None if request is None else read_request(request)

    def changed(known: AddedStarts) -> tuple[AddedStarts, ObjectStart]:
        before = _added(known, name, deployed)
        start = _judged(
            aws,
            _written(
                name,
                before.request if document is None else document,
                before.prefix if prefix is None else prefix,
                before.suffix if suffix is None else suffix,
                before.window_seconds if window is None else window,
            ),
            known,
            deployed,
        )
        return known.with_(start), start

    _tell(_change(aws, changed), "changed", as_json=as_json)


@app.command(name="list")
def list_(*, local: Local = False, as_json: AsJson = False) -> None:
    """Show all starts by objects: those that were added, and those of the settings ("deployed")."""
    aws = home(local=local)
    added = store(aws).get().starts
    found: list[tuple[str, ObjectStart | DeployedStart]] = [("deployed", one) for one in _rules(aws)]
    found += [("added", one) for one in added]
    if as_json:
        for origin, one in found:
            say(json.dumps(_document(origin, one)))
    else:
        make_console().print(_table(found) if found else "no object starts transfers")


@app.command()
def remove(name: Name, *, local: Local = False, as_json: AsJson = False) -> None:
    """Remove a start that was added; a transfer that it has started runs on."""
    aws = home(local=local)

    def removed(known: AddedStarts) -> tuple[AddedStarts, ObjectStart]:
        start = _added(known, name, _rules(aws))
        return known.without([name]), start

    _change(aws, removed)
    say(json.dumps({"name": name, "removed": True}) if as_json else f"removed {name}; it starts nothing any more")


def store(aws: Aws) -> DynamoAddedStarts:
    """Those that were added."""
    return DynamoAddedStarts(Table(aws.client("dynamodb"), f"{aws.deployment}-arrivals"))


def _rules(aws: Aws) -> list[DeployedStart]:
    return list(StartRules(aws.client("events"), aws.deployment, aws.region).all())


def _change(aws: Aws, change: Callable[[AddedStarts], tuple[AddedStarts, ObjectStart]]) -> ObjectStart:
    """Write what `change` makes of those that there are."""
    starts = store(aws)
    for _ in range(_TRIES):
        try:
            changed, start = change(starts.get())
        except InvalidRequest as error:
            _refuse("\n".join(_in_options(problem) for problem in error.problems))
        if starts.put(changed):
            return start
    return _refuse("NAME: others change starts all the time; try it again")


def _written(
    name: str, request: dict[str, Any], prefix: str | None, suffix: str | None, window: int | None
) -> dict[str, Any]:
    given = {"prefix": prefix, "suffix": suffix, "windowSeconds": window}
    there = {key: value for key, value in given.items() if value is not None}
    source = request.get("source")
    bucket = source.get("bucket") if isinstance(source, dict) else None
    if bucket is None:
        _refuse(
            '$.source: its source is no bucket; write "source": {"kind": "bucket", "bucket": …, "region": …}: '
            "objects of this bucket start transfers of what has come"
        )
    return {"name": name, "bucket": bucket, "request": request, **there}


def _prefix_of(request: dict[str, Any]) -> str | None:
    source = request.get("source")
    return source.get("prefix") if isinstance(source, dict) else None


def _judged(aws: Aws, written: dict[str, Any], known: AddedStarts, deployed: list[DeployedStart]) -> ObjectStart:
    """The start; raises InvalidRequest where its transfers would be refused, or start themselves for ever."""
    others: list[Listening] = [one.listening for one in known.without([written["name"]]).starts]
    others += [one.listening for one in deployed]
    env = environment(aws)
    return read_object_start(written, limits(env, written["request"]), None if env is None else env.buckets, others)


def _in_options(problem: str) -> str:
    for field, option in _OPTIONS.items():
        if problem.startswith(field):
            return option + problem.removeprefix(field)
    return problem


def _added(known: AddedStarts, name: str, deployed: list[DeployedStart]) -> ObjectStart:
    found = known.named(name)
    if found is None and any(one.name == name for one in deployed):
        _refuse(f"NAME: '{name}' is a start of the settings; change cpt.starts.objects.{name} in cdk.json, and deploy")
    if found is None:
        _refuse(f"NAME: there is no start '{name}'; cpt starts list{and_local()} shows all")
    return found


def _refuse(problem: str) -> NoReturn:
    refuse(InvalidRequest.__name__, problem)


def _tell(start: ObjectStart, done: str, *, as_json: bool) -> None:
    if as_json:
        say(json.dumps(_document("added", start)))
        return
    say(f"{done} {start.name}: {_where(start)}, one transfer for what comes within {start.window_seconds} s")
    say(f"objects start nothing unless s3://{start.bucket} tells EventBridge of them; cpt doctor{and_local()} says so")


def _where(start: ObjectStart | DeployedStart) -> str:
    return f"s3://{start.bucket}/{start.prefix}" + (f"*{start.suffix}" if start.suffix else "")


def _document(origin: str, start: ObjectStart | DeployedStart) -> dict[str, Any]:
    """A line of `--json`."""
    document = {
        "name": start.name,
        "origin": origin,
        "bucket": start.bucket,
        "prefix": start.prefix,
        "suffix": start.suffix,
        "region": start.region,
        "windowSeconds": start.window_seconds,
        "request": start.request,
    }
    return {key: value for key, value in document.items() if value is not None}


def _table(found: list[tuple[str, ObjectStart | DeployedStart]]) -> Shown:
    shown = Shown(box=SIMPLE_HEAD)
    shown.add_column("name", overflow="fold")
    shown.add_column("origin", no_wrap=True)
    shown.add_column("objects", overflow="fold")
    shown.add_column("collected", no_wrap=True)
    shown.add_column("from and to", overflow="fold")
    for origin, one in found:
        collected = "each alone" if one.window_seconds is None else f"{one.window_seconds} s"
        shown.add_row(one.name, origin, _where(one), collected, "\n→ ".join(from_and_to(one.request) or ()))
    return shown
