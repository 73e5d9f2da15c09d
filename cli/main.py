"""`cpt`: from an estimate to the report and the teardown of transfers; runs the local cloud. AWS APIs only."""

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError

from cli import (
    approving,
    cancelling,
    checkout,
    doctoring,
    estimating,
    leaving,
    limiting,
    listing,
    mapping,
    object_starts,
    pausing,
    pooling,
    profiles,
    redriving,
    reporting,
    requesting,
    scheduling,
    seats,
    settings,
    starting,
    tearing_down,
    terminal,
    watching,
    waving,
)
from cli.console import say
from cli.exit_codes import ExitCode
from cli.refusals import in_words

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"cpt {version('cloud-parallel-transfer')}")
        raise typer.Exit


@app.callback()
def _of_all_commands(
    *,
    region: Annotated[
        str | None, typer.Option(envvar="CPT_REGION", help="Home region of the deployment. Default: as a file says.")
    ] = None,
    deployment: Annotated[
        str | None, typer.Option(envvar="CPT_DEPLOYMENT", metavar="NAME", help="Name of the deployment. Default: cpt.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(envvar="CPT_PROFILE", help="Profile of AWS's own settings with the credentials.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(envvar="CPT_TENANT", metavar="NAME", help="Tenant whose commands these are, if any.")
    ] = None,
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Move bulk data between two machines in different cloud regions, through relays where these help."""
    settings.give(region=region, name=deployment, profile=profile, tenant=tenant)


app.command(epilog=estimating.EXAMPLES)(estimating.estimate)
app.command(name="map")(mapping.map_)
app.command()(doctoring.doctor)
app.command()(requesting.request)
app.command()(starting.start)
app.command()(watching.watch)
app.command()(waving.waves)
app.command(name="list")(listing.list_)
app.command()(approving.approve)
app.command()(approving.reject)
app.command()(limiting.limit)
app.command()(pausing.pause)
app.command()(pausing.unpause)
app.add_typer(seats.app, name="seats")
app.command()(pooling.pool)
app.command()(cancelling.cancel)
app.command()(reporting.report)
app.command()(tearing_down.teardown)
app.command()(redriving.redrive)
app.command()(leaving.leave)
app.add_typer(scheduling.app, name="schedule")
app.add_typer(object_starts.app, name="starts")
app.add_typer(profiles.app, name="profiles")
checkout.add_to(app)


def main() -> None:
    """Entry point; a call that AWS refuses ends it with words and a code of its own."""
    terminal.prepare()
    try:
        app()
    except (BotoCoreError, ClientError) as error:
        say(f"cpt: {in_words(error)}", err=True)
        sys.exit(ExitCode.AWS)
    except OSError as error:
        # What is still in the buffer would fail once more as Python ends, with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        about = f"{error.filename}: " if error.filename else "the output cannot be written: "
        say(f"cpt: {about}{error.strerror or error}", err=True)
        sys.exit(ExitCode.OUTPUT)


if __name__ == "__main__":
    main()
