"""`cpt report`: the report of a transfer that has ended, as text, as JSON, as a page."""

import json
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError

from cli.aws import Aws, home
from cli.executions import find, transfer_id
from cli.exit_codes import ExitCode, exit_code
from cli.options import AsJson, Local
from cli.render import make_console, report_view
from lambdas.core.failures import advice
from lambdas.core.report.page.render import render
from lambdas.core.report.report import Report, of_refused
from lambdas.core.transfer import Failure

Name = Annotated[str, typer.Argument(metavar="NAME", help="The execution's name, or the transfer's.")]


def report(
    name: Name,
    *,
    local: Local = False,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Write the page to this file.", dir_okay=False)] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Print the report of a transfer that has ended; keep its page, or look at it."""
    aws = home(local=local)
    execution = find(aws, name)
    if execution["status"] == "RUNNING":
        typer.echo(f"cpt: {name} is still running; watch it with: cpt watch {name}", err=True)
        raise typer.Exit(ExitCode.USAGE)
    document = read_report(aws, execution)
    if html or open_:
        page = html or Path(tempfile.mkdtemp(prefix="cpt-report-")) / f"{name}.html"
        try:
            save_page(aws, execution, document, page)
        except OSError as error:
            remedy = "name a file in a directory that you may write to"
            typer.echo(f"cpt: --html {page}: {error.strerror}; {remedy}", err=True)
            raise typer.Exit(ExitCode.USAGE) from None
        typer.echo(f"page: {page}", err=as_json)
        if open_ and not webbrowser.open(page.absolute().as_uri()):
            typer.echo(f"cpt: no browser can be started here; open {page} by hand", err=True)
    finish(document, as_json=as_json)


def finish(document: dict[str, Any], *, as_json: bool) -> None:
    """Print a report, or what the execution says in its place, and exit with its code."""
    if as_json:
        typer.echo(json.dumps(document))
    elif "stages" in document:
        make_console().print(report_view(document))
    else:
        failure = _failure(document)
        typer.echo(f"{document['status']}: {failure.error}: {failure.cause}", err=True)
        typer.echo(f"What to do: {advice(failure.error)}", err=True)
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
    account = aws.client("sts").get_caller_identity()["Account"]
    bucket = f"{aws.deployment}-control-{account}-{aws.region}"
    try:
        found = aws.client("s3").get_object(Bucket=bucket, Key=f"transfers/{transfer_id(execution)}/{name}")
    except ClientError as error:
        if error.response["Error"]["Code"] in ("NoSuchKey", "AccessDenied"):
            return None
        raise
    body: bytes = found["Body"].read()
    return body
