"""`cpt limit`: change what a running transfer may send, or several together."""

import json
from typing import Annotated, Any

import typer

from cli.aws import home
from cli.calls import call
from cli.completion import transfer_names
from cli.console import say
from cli.exit_codes import ExitCode
from cli.options import AsJson, Local, not_empty
from cli.quantities import OptionError, limit_mbps

FUNCTION, COMMON_FUNCTION = "limit-transfer", "limit-transfers"


def limit(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            callback=lambda name: name if name is None else not_empty(name),
            help="The request's name, else that of its execution; or --all or --label.",
            autocompletion=transfer_names,
        ),
    ] = None,
    *,
    mbps: Annotated[
        str,
        typer.Option(
            metavar="MBIT|none|timetable",
            help="Limit of all paths together in Mbit/s; none removes it, timetable returns to that of the request.",
        ),
    ],
    of_all: Annotated[bool, typer.Option("--all", help="One limit that all transfers share.")] = False,
    label: Annotated[str | None, typer.Option(help="One limit that the transfers of this label share.")] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Limit a transfer that runs, or lift the limit: `cpt limit NAME --mbps 400`; the sender follows in a second.

    It holds until the end, or until `--mbps timetable` goes back to the timetable of the request. A limit of --all or
    --label is shared by need, also with transfers that start later, and holds until `--mbps none`.
    """
    try:
        if sum((name is not None, of_all, label is not None)) != 1 or label == "":
            raise OptionError("NAME", name or label or "", "write the name of a transfer, or --all, or --label LABEL")
        wanted = limit_mbps(mbps)
        if name is None and wanted == "timetable":
            raise OptionError("--mbps", mbps, "a limit over several transfers has no timetable; write Mbit/s, or none")
    except OptionError as error:
        say(f"cpt: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    if name is not None:
        answer = call(home(local=local), FUNCTION, {"transferId": name, "bandwidthLimitMbps": wanted})
        by = " by its timetable" if mbps == "timetable" else ""
        said = f"{name} may send {_words(answer['bandwidthLimitMbps'])}{by} from now on"
    else:
        over: dict[str, Any] = {} if label is None else {"label": label}
        answer = call(home(local=local), COMMON_FUNCTION, {**over, "bandwidthLimitMbps": wanted})
        who = "all transfers" if label is None else f"the transfers of '{label}'"
        said = f"{who} together may send {_words(answer['bandwidthLimitMbps'])} from now on{_shares(answer)}"
    say(json.dumps(answer) if as_json else said)


def _words(mbps: int | None) -> str:
    return "as much as it can" if mbps is None else f"{mbps} Mbit/s"


def _shares(answer: dict[str, Any]) -> str:
    shares = answer["shares"]
    return "".join(f"\n  {name}: {mbps:,.4g} Mbit/s" for name, mbps in shares.items())
