"""`cpt leave`: what keeps a deployment from being removed; with consent, undoes it."""

import json
import sys
from collections.abc import Iterable
from typing import Annotated

import typer
from botocore.exceptions import ClientError, WaiterError

from cli.aws import Aws, home
from cli.console import say
from cli.exit_codes import ExitCode
from cli.leave.contents import content_ties
from cli.leave.images import image_ties
from cli.leave.network import Network
from cli.leave.permissions import permission_ties
from cli.leave.stacks import find_stacks, stack_ties
from cli.leave.starts import start_ties
from cli.leave.tie import Status, Tie, Ties
from cli.leave.transfers import launched, running
from cli.options import AsJson, Local
from cli.refusals import in_words
from cli.settings import settings

_HEADINGS: dict[Status, str] = {
    "holds": "keeps cdk destroy --all from succeeding",
    "left": "is of the deployment, and cdk destroy --all leaves it",
    "goes": "is data that cdk destroy --all deletes",
    "stays": "stays",
}


def leave(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Undo what cpt can undo, without asking.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel-transfers", help="Stop transfers that run, too.")] = False,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Say what keeps `cdk destroy --all` from succeeding, and what it leaves; with consent, undo it."""
    aws, enrolled = home(local=local), settings().regions
    # Starts first: what they start while the rest is undone would be left behind.
    starts, transfers = list(start_ties(aws)), list(running(aws))
    found = [*starts, *transfers, *ties(aws, enrolled)]
    undoable = [tie for tie in found if tie.undo is not None]
    if transfers and not cancel:
        _tell(found, as_json=as_json)
        say("cpt: transfers run; wait for them, or stop them with --cancel-transfers", err=True)
        raise typer.Exit(ExitCode.UNFIT)
    if undoable and not yes and sys.stdin.isatty():
        _tell(found, as_json=False)
        yes = typer.confirm(f"Undo {len(undoable)} of them, as each says?", err=True)
    if yes:
        refused = {(tie.region, tie.about) for tie in undoable if not _undo(tie, as_json=as_json)}
        # A machine that was told to stop has written its last into a bucket that was empty by then.
        for tie in list(ties(aws, enrolled)):
            if tie.undo is not None and (tie.region, tie.about) not in refused:
                _undo(tie, as_json=as_json)
        found = [*start_ties(aws), *running(aws), *ties(aws, enrolled)]
    _tell(found, as_json=as_json)
    if any(tie.status == "holds" for tie in found):
        raise typer.Exit(ExitCode.UNFIT)
    if not as_json:
        say("nothing keeps the stacks: npx cdk destroy --all")


def ties(aws: Aws, enrolled: Iterable[str] | None) -> Ties:
    """Return all ties but running transfers, in the order in which they can be undone.

    `enrolled`: the regions that cdk.json has; None where no checkout says what `cdk destroy --all` knows.
    """
    stacks = find_stacks(aws)
    yield from stack_ties(aws, stacks, enrolled)
    regions = sorted({aws.region, *(enrolled or ()), *(stack.region for stack in stacks)})
    for region in regions:
        yield from launched(aws, region)
    for region in regions:
        yield from Network(aws, region, stacks).ties()
        yield from image_ties(aws, region, stacks)
    yield from permission_ties(aws, stacks)
    yield from content_ties(aws, stacks)
    for region in regions:
        message = "the stack CDKToolkit and its bucket are the account's: other applications may use them"
        yield Tie("stays", region, "CDKToolkit", message)


def _undo(tie: Tie, *, as_json: bool) -> bool:
    assert tie.undo is not None  # noqa: S101 - only those are chosen
    done = "undone"
    try:
        tie.undo()
    except (ClientError, WaiterError) as error:
        done = f"not undone: {in_words(error) if isinstance(error, ClientError) else error}"
    if as_json:
        say(json.dumps({**tie.to_document(), "result": done}))
    else:
        say(f"{tie.region} {tie.about}: {tie.message}; {tie.remedy}: {done}")
    return done == "undone"


def _tell(found: list[Tie], *, as_json: bool) -> None:
    if as_json:
        for tie in found:
            say(json.dumps(tie.to_document()))
        return
    for status, heading in _HEADINGS.items():
        of_status = [tie for tie in found if tie.status == status]
        if of_status:
            say(f"What {heading}:")
        for tie in of_status:
            say(f"  {tie.region} {tie.about}: {tie.message}")
            if tie.remedy:
                say(f"    → {'with --yes: ' if tie.undo else ''}{tie.remedy}")
