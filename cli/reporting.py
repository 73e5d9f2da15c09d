"""`cpt report`: the report of a transfer that has ended, as text, as JSON, as a page."""

import json
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError

from cli import entry_list
from cli.aws import Aws, home
from cli.completion import transfer_names
from cli.console import make_console, say
from cli.executions import find, transfer_id
from cli.exit_codes import ExitCode, exit_code
from cli.options import AsJson, Local, and_local, not_empty
from cli.render import failure_lines, report_view
from lambdas.core.failures import advice
from lambdas.core.report.page.render import render
from lambdas.core.report.report import Report, of_refused
from lambdas.core.transfer.failure import Failure

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        callback=not_empty,
        help="The execution's name, or the transfer's.",
        autocompletion=transfer_names,
    ),
]


def report(
    name: Name,
    *,
    local: Local = False,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Write the page to this file.", dir_okay=False)] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    entries: Annotated[
        bool, typer.Option("--entries", help="Print what became of every entry, a JSON line each.")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Print the paths that were not moved, percent-encoded.")
    ] = False,
    zero: Annotated[
        bool, typer.Option("-0", help="With --failed: the names themselves, a zero byte after each, for pathsFrom.")
    ] = False,
) -> None:
    """Print the report of a transfer that has ended; keep its page, or look at it."""
    if (zero and not failed) or (entries and failed):
        say("cpt: -0 goes with --failed, and --failed not with --entries", err=True)
        raise typer.Exit(ExitCode.USAGE)
    aws = home(local=local)
    execution = find(aws, name)
    if execution["status"] == "RUNNING":
        say(f"cpt: {name} is still running; watch it with: cpt watch {name}{and_local()}", err=True)
        raise typer.Exit(ExitCode.USAGE)
    document = read_report(aws, execution)
    if entries or failed:
        found = entry_list.read(aws.client("s3"), document.get("entries"))
        entry_list.show(found, "entries" if entries else "names" if zero else "paths")
        return
    if html or open_:
        page = html or Path(tempfile.mkdtemp(prefix="cpt-report-")) / f"{name}.html"
        try:
            save_page(aws, execution, document, page)
        except OSError as error:
            remedy = "name a file in a directory that you may write to"
            say(f"cpt: --html {page}: {error.strerror}; {remedy}", err=True)
            raise typer.Exit(ExitCode.USAGE) from None
        say(f"page: {page}", err=as_json)
        if open_ and not webbrowser.open(page.absolute().as_uri()):
            say(f"cpt: no browser can be started here; open {page} by hand", err=True)
    finish(document, as_json=as_json, logs=f"s3://{_bucket(aws)}/transfers/{transfer_id(execution)}/logs/")


def finish(document: dict[str, Any], *, as_json: bool, logs: str | None = None) -> None:
    """Print a report, or what the execution says in its place, and exit with its code; `logs`: where those are."""
    if as_json:
        say(json.dumps(document))
    elif "stages" in document:
        make_console().print(report_view(document))
        if logs:
            say(f"The last lines of its machines' logs: aws s3 ls --recursive {logs}")
    else:
        failure = _failure(document)
        say(f"{document['status']}: " + "\n".join(failure_lines(failure.error, failure.cause)), err=True)
        say(f"What to do: {advice(failure.error)}", err=True)
    raise typer.Exit(exit_code(document))


def read_report(aws: Aws, execution: dict[str, Any]) -> dict[str, Any]:
    """Return what Write Report left; else the output of a success; else what the execution itself says."""
    stored = _stored(aws, execution, "report.json")
    if stored is not None:
        document: dict[str, Any] = json.loads(stored)
        if document.get("executionArn") == execution["executionArn"]:
            return document
    if execution["status"] == "SUCCEEDED":
        output: dict[str, Any] = json.loads(execution["output"])
        return output
    return {"status": execution["status"], "error": execution.get("error"), "cause": execution.get("cause")}


def save_page(aws: Aws, execution: dict[str, Any], document: dict[str, Any], target: Path) -> None:
    """The page that Write Report left, else one of what is known: a request that was refused has left none."""
    stored = _stored(aws, execution, "report.html")
    if stored is None or execution["executionArn"] not in stored.decode():
        stored = render(_as_report(execution, document)).encode()
    target.write_bytes(stored)


def _as_report(execution: dict[str, Any], document: dict[str, Any]) -> Report:
    if "stages" in document:
        return Report.from_document(document)
    lasted = (execution["stopDate"] - execution["startDate"]).total_seconds()
    return of_refused(execution["name"], execution["executionArn"], _failure(document), lasted)


def _failure(document: dict[str, Any]) -> Failure:
    """Return the failure of an execution without a report; one that was stopped may have no error of its own."""
    named = f"Execution{document['status'].title().replace('_', '')}"
    return Failure(error=document.get("error") or named, cause=document.get("cause") or "it has no report")


def _stored(aws: Aws, execution: dict[str, Any], name: str) -> bytes | None:
    """An object of the transfer; None where there is none, or none for this caller to read."""
    try:
        found = aws.client("s3").get_object(Bucket=_bucket(aws), Key=f"transfers/{transfer_id(execution)}/{name}")
    except ClientError as error:
        if error.response["Error"]["Code"] in ("NoSuchKey", "AccessDenied"):
            return None
        raise
    body: bytes = found["Body"].read()
    return body


def _bucket(aws: Aws) -> str:
    account = aws.client("sts").get_caller_identity()["Account"]
    return f"{aws.deployment}-control-{account}-{aws.region}"
