"""`cpt request`: a first request for two machines of the account."""

import json
from typing import Annotated

import typer

from cli.aws import enrolled, home
from cli.calls import refuse
from cli.console import say
from cli.exit_codes import ExitCode
from cli.given_ends import region_of
from cli.options import AsJson, Local
from cli.quantities import OptionError
from lambdas.core.errors import InvalidRequest
from lambdas.core.request.relays_request import MAX_REQUEST_PAIRS
from lambdas.core.request.request import Limits, parse_request


def request(
    source: Annotated[str, typer.Argument(help="Instance id of the machine that has the data.")],
    source_path: Annotated[
        str, typer.Argument(help="Absolute path there. With a slash at its end, what the directory holds is moved.")
    ],
    destination: Annotated[str, typer.Argument(help="Instance id of the machine that gets the data.")],
    destination_path: Annotated[str, typer.Argument(help="Absolute path of the directory in which the data arrives.")],
    *,
    regions: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE,DESTINATION",
            help="Regions of the two machines; one region stands for both. Default: they are looked for.",
        ),
    ] = None,
    lands_as: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="PATH",
            help="Path in that directory under which it arrives, e.g. 2026/run-17. Default: its own last name.",
        ),
    ] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Write the smallest request that moves data between two machines; nothing is started."""
    aws = home(local=local)
    known = sorted(enrolled(aws))
    try:
        near, far = _given(regions) if regions else (region_of(aws, known, each) for each in (source, destination))
    except OptionError as error:
        say(f"cpt: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    named = source_path if lands_as is None else {"path": source_path, "as": lands_as}
    document = {
        "source": {"instanceId": source, "region": near, "paths": [named]},
        "destination": {"instanceId": destination, "region": far, "path": destination_path},
    }
    try:
        parse_request(document, Limits(known, MAX_REQUEST_PAIRS, ()))
    except InvalidRequest as error:
        refuse(type(error).__name__, str(error))
    say(json.dumps(document, indent=None if as_json else 2))


def _given(regions: str) -> tuple[str, str]:
    """`us-west-2,eu-west-1`, or one region for both."""
    names = [name.strip() for name in regions.split(",")]
    if len(names) > 2 or not all(names):
        raise OptionError("--regions", regions, "write the source's and the destination's, e.g. us-west-2,eu-west-1")
    return names[0], names[-1]
