"""Which file systems a source is on is noted by its first run, and later ones are held to it."""

from collections.abc import Sequence

from lambdas.adapters.world import World
from lambdas.core.errors import DeletionRefused, SurveyProblem
from lambdas.core.intake.sources import exchanged, mirror_key, on_file_systems
from lambdas.core.record import transfer_life
from lambdas.core.request.deletion import WITHOUT_DRY_RUN
from lambdas.core.survey.whereabouts import Whereabouts
from lambdas.core.transfer.accepted import AcceptedTransfer


def check_sources(transfer: AcceptedTransfer, places: Sequence[Whereabouts], world: World) -> None:
    """Note where the source is. Raise SurveyProblem where an earlier run of the transfer found it elsewhere."""
    now = on_file_systems(places)
    record = world.transfers.get(transfer.transfer_id)
    known = record.source_paths if record else None
    if lines := list(exchanged(known or [], now, f"when '{transfer.transfer_id}' began")):
        raise SurveyProblem("\n".join(f"{line}, or give this transfer another name" for line in lines))
    if not known and now:
        noted = [path.to_document() for path in now]
        world.transfers.change(transfer, transfer_life.note(source_paths=noted))


def check_mirror(transfer: AcceptedTransfer, places: Sequence[Whereabouts], world: World) -> None:
    """Raise DeletionRefused where the last mirror of the same ends found the source elsewhere and no person looks."""
    if not transfer.request.delete or transfer.request.dry_run or transfer.request.confirm_delete != WITHOUT_DRY_RUN:
        return
    before = world.mirrors.source_paths(mirror_key(transfer))
    if lines := list(exchanged(before, on_file_systems(places), "when the last mirror of it was made")):
        raise DeletionRefused("\n".join(f"{line}, or confirm the digest of a dry run" for line in lines))


def remember_mirror(transfer: AcceptedTransfer, places: Sequence[Whereabouts], world: World) -> None:
    """Note where the source is, for the next mirror of the same ends."""
    if transfer.request.delete and not transfer.request.dry_run and (now := on_file_systems(places)):
        world.mirrors.note(mirror_key(transfer), now)
