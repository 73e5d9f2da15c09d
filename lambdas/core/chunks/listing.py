"""A listing that is planned while it goes on: when that may be, what says how far it is, how it is cut into lots."""

from collections.abc import Iterable, Iterator
from itertools import islice
from re import sub
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.chunks.chunk import RANGE_SIZE
from lambdas.core.chunks.pace import RANGES_AT_ONCE
from lambdas.core.chunks.plan import MIB, ListedEntry, PlannedChunk, SizeCheck, any_size, plan_chunks
from lambdas.core.documents import Count, Handover
from lambdas.core.ends.bucket import SourceBucket
from lambdas.core.survey.survey import DestinationSurvey, Listed
from lambdas.core.survey.whereabouts import Kernel, Whereabouts
from lambdas.core.transfer.accepted import AcceptedTransfer

# Where the size is not known: with smaller chunks a large transfer would have too many.
LEAST_CHUNK_MIB = 8
# Lines of a lot lie in one object: a sender reads it at once.
LOT_BYTES = 4 * MIB


class Announcement(Listed):
    """Contract `announcement`: what the objects of the listing hold that are written so far."""

    listing_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    problem_count: Count
    complete: bool
    kernel: Kernel | None = None
    places: list[Whereabouts] | None = None


class OpenSurvey(Handover):
    """Output of Survey Ends where data may flow before the listing is done, with the command that lists the source.

    `answer_id`: of its answer in the table; None where a version before that has sent it, as output of the command.
    """

    open: Literal[True] = True
    command_id: str
    answer_id: str | None = None
    destination: DestinationSurvey
    listed: Announcement


def may_be_followed(transfer: AcceptedTransfer) -> bool:
    """Return whether nothing that the request says needs the whole listing, or the estimate, before the first byte."""
    request, objective = transfer.request, transfer.request.objective
    bounded = objective.max_cost_usd is not None or objective.deadline_seconds is not None
    # What is restored has to be paid, so the estimate comes first.
    restores = isinstance(request.source, SourceBucket) and request.source.restoring is not None
    needs_all = request.approval == "required" or request.resume or request.dry_run or restores
    return not (bounded or needs_all or request.delete)


def announcement_name(transfer: AcceptedTransfer) -> str:
    """Below the transfer's prefix, and the execution's own: an earlier one of the same name may have left another."""
    execution = sub(r"[^A-Za-z0-9_-]", "-", transfer.execution_arn.rsplit(":", 1)[-1])
    return f"announced/{execution}.json"


def lots(
    parts: Iterable[Iterable[ListedEntry]], part_bytes: int, check: SizeCheck = any_size
) -> Iterator[list[PlannedChunk]]:
    """Return what is written together and then may be read: the first lot is small, and none waits for another object.

    The same objects give the same lots, whoever asks.
    """
    most = RANGE_SIZE
    for part in parts:
        chunks = plan_chunks(part, part_bytes, check)
        while lot := _lot(chunks, most):
            yield lot
            most = min(2 * most, RANGE_SIZE * RANGES_AT_ONCE)


def _lot(chunks: Iterator[PlannedChunk], most: int) -> list[PlannedChunk]:
    lot: list[PlannedChunk] = []
    held = 0
    for chunk in islice(chunks, most):
        lot.append(chunk)
        held += len(chunk.lines)
        if held >= LOT_BYTES:
            break
    return lot
