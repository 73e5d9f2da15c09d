"""`cpt limit`: change what a running transfer may send."""

import json
from typing import Annotated

import typer

from cli.aws import home
from cli.calls import call
from cli.exit_codes import ExitCode
from cli.options import AsJson, Local
from cli.quantities import OptionError, limit_mbps

FUNCTION = "limit-transfer"


def limit(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The request's name, else that of its execution.")],
    *,
    mbps: Annotated[
        str,
        typer.Option(
            metavar="MBIT|none|timetable",
            help="Mbit/s over all paths together; none: no limit; timetable: the request's.",
        ),
    ],
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Limit a transfer that runs, or lift the limit: `cpt limit NAME --mbps 400`; the sender follows in a second.

    It holds until the end, or until `--mbps timetable` goes back to the timetable of the request.
    """
    try:
        wanted = {"transferId": name, "bandwidthLimitMbps": limit_mbps(mbps)}
    except OptionError as error:
        typer.echo(f"cpt: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    answer = call(home(local=local), FUNCTION, wanted)
    by = " by its timetable" if mbps == "timetable" else ""
    said = f"{name} may send {_words(answer['bandwidthLimitMbps'])}{by} from now on"
    typer.echo(json.dumps(answer) if as_json else said)


def _words(mbps: int | None) -> str:
    return "as much as it can" if mbps is None else f"{mbps} Mbit/s"
