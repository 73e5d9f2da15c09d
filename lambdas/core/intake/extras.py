"""The check whether what would be removed at the destination is what the request confirms."""

from collections.abc import Iterator

from lambdas.core.errors import DeletionRefused
from lambdas.core.request.deletion import WITHOUT_DRY_RUN, ExtrasSurvey
from lambdas.core.survey.survey import SourceSurvey
from lambdas.core.transfer.accepted import AcceptedTransfer


def check_source(transfer: AcceptedTransfer, source: SourceSurvey) -> None:
    """Raise DeletionRefused where the source has nothing in which something could be missing."""
    paths, field = transfer.request.source.plain_paths, f"$.source.{transfer.request.source.where_field}"
    if not source.directories and not any(path.endswith("/") for path in paths):
        raise DeletionRefused(
            f"$.delete: true, and none of {field} ({', '.join(paths)[:200]}) brings a directory: there is "
            "nothing that a destination could have beyond it; leave delete out, or name a directory"
        )


def check_extras(transfer: AcceptedTransfer, source: SourceSurvey, extras: ExtrasSurvey, where: str) -> None:
    """Raise DeletionRefused unless all of these may be removed; `where`: the folder of their list."""
    if problems := list(_problems(transfer, source, extras)):
        told = f"{extras.words()} would be removed from {transfer.request.destination.where}; all: {where}"
        raise DeletionRefused("\n".join((*problems, told)))


def _problems(transfer: AcceptedTransfer, source: SourceSurvey, extras: ExtrasSurvey) -> Iterator[str]:
    request = transfer.request
    confirmed = request.confirm_delete
    if not extras.entries:
        return
    if confirmed != WITHOUT_DRY_RUN and confirmed != extras.digest:
        yield (
            f"$.confirmDelete: '{confirmed}' is not the digest of what would be removed now, '{extras.digest}'; "
            "start a dry run, look at its list, and confirm the digest that it reports"
        )
    if extras.entries > request.max_delete:
        yield (
            f"$.maxDelete: {request.max_delete} is less than the {extras.entries} that would be removed; "
            "give as much if that is what you mean"
        )
    if confirmed == WITHOUT_DRY_RUN and not source.files and not source.symlinks:
        yield (
            f"$.confirmDelete: '{WITHOUT_DRY_RUN}', and the source has no file at all, as one that is not mounted; "
            "if it is empty indeed, confirm the digest of a dry run"
        )
    elif confirmed == WITHOUT_DRY_RUN and extras.mostly:
        told = "; ".join(mostly.words(request.destination.where) for mostly in extras.mostly)
        yield (
            f"$.confirmDelete: '{WITHOUT_DRY_RUN}', and more than half would be removed of what a source path has "
            "there, or anything where it has nothing, as where its disk is not mounted: "
            f"{told}; if you mean that, confirm the digest of a dry run"
        )
