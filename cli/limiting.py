"""`cpt limit`: change what a running transfer may send."""

import json
from typing import Annotated

import typer

from cli.aws import home
from cli.calls import call
from cli.completion import Transfer
from cli.console import say
from cli.exit_codes import ExitCode
from cli.options import AsJson, Local
from cli.quantities import OptionError, limit_mbps

FUNCTION = "limit-transfer"


def limit(
    name: Transfer,
    *,
    mbps: Annotated[
        str,
        typer.Option(
            metavar="MBIT|none|timetable",
            help="Limit of all paths together in Mbit/s; none removes it, timetable returns to that of the request.",
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
        say(f"cpt: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    answer = call(home(local=local), FUNCTION, wanted)
    by = " by its timetable" if mbps == "timetable" else ""
    said = f"{name} may send {_words(answer['bandwidthLimitMbps'])}{by} from now on"
    say(json.dumps(answer) if as_json else said)


def _words(mbps: int | None) -> str:
    return "as much as it can" if mbps is None else f"{mbps} Mbit/s"
