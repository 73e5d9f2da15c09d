"""`cpt map`: what is known of the links between the enrolled regions, in the terminal, as a page, for scripts."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cli.aws import home
from cli.calls import RefusedError, invoke, refuse
from cli.console import make_console, say
from cli.exit_codes import ExitCode
from cli.map_view import map_view
from cli.options import AsJson, Local
from lambdas.core.estimate.network_map import NetworkMap
from lambdas.core.report.page.map_page import render_map

# What the function calls the parts of its input, as options.
_OPTIONS = {"$.map.instanceTypes": "--type", "$.map.regions": "--region"}


def map_(
    *,
    type_: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Show only relays of this type. Can be repeated.")
    ] = None,
    region: Annotated[
        list[str] | None, typer.Option(metavar="REGION", help="Show only links between these regions. Can be repeated.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the map as a page to this file.", dir_okay=False)] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Show what each link between two regions carries, who says so, and where a third region makes a wider way."""
    wanted = {"instanceTypes": type_, "regions": region}
    document = {"map": {name: values for name, values in wanted.items() if values}}
    try:
        answer = invoke(home(local=local), "estimate-request", document)
    except RefusedError as refused:
        if refused.error != "InvalidRequest":
            refuse(refused.error, refused.message)
        say(f"cpt: {_in_options(refused.message)}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    found = NetworkMap.from_document(answer)
    if html:
        try:
            html.write_text(render_map(found), encoding="utf-8")
        except OSError as error:
            remedy = "name a file in a directory that you may write to"
            say(f"cpt: --html {html}: {error.strerror}; {remedy}", err=True)
            raise typer.Exit(ExitCode.USAGE) from None
        say(f"page: {html}", err=as_json)
    if as_json:
        say(json.dumps(answer))
    else:
        console = make_console()
        console.print(map_view(found, console))


def _in_options(message: str) -> str:
    """The function's problems in the words of the command line: `$.map.regions[0]` is `--region`."""
    lines = []
    for line in message.splitlines():
        head, colon, rest = line.partition(":")
        option = _OPTIONS.get(head.partition("[")[0], "--type, --region" if head == "$.map" else head)
        lines.append(f"{option}{colon}{rest}")
    return "\n".join(lines)
