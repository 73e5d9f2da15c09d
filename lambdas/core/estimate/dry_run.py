"""What a transfer would do with each file, in files, bytes, seconds and dollars, though nothing is moved."""

from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.rows import Row
from lambdas.core.request.deletion import WouldDelete
from lambdas.core.survey.survey import Survey

NonNegative = Annotated[float, Field(ge=0)]


class Action(Document):
    """Files and bytes that have one thing done to them; their share of the estimated data time and of the cost."""

    files: Count
    bytes: Count
    seconds: NonNegative
    cost_usd: NonNegative


class Left(Document):
    """All that would be sent, and how long: data alone, and from the transfer's start to its report.

    `low` and `high` of the data are those of the row. Those of the whole time are as far from it on both sides: an
    estimate is as often too high as too low.
    """

    files: Count
    bytes: Count
    seconds: NonNegative
    seconds_low: NonNegative
    seconds_high: NonNegative
    whole_seconds: NonNegative
    whole_seconds_low: NonNegative
    whole_seconds_high: NonNegative


class DryRun(Document):
    """Contract `report`, `dryRun`. `left` is absent where only the data time is known.

    `new`: the destination has nothing in their place. `changed`: it has something else. `equal`: they are there as the
    source has them. `where`: folder of the list of what would be sent, contract `listing-entry` (`s3://…/`). `deleted`:
    where the request says delete.
    """

    new: Action
    changed: Action
    equal: Action
    where: str
    left: Left | None = None
    deleted: WouldDelete | None = None


def dry_run(survey: Survey, estimate: Estimate, where: str, deleted: WouldDelete | None = None) -> DryRun:
    """What the survey has found; time and cost of the chosen row by the share of bytes, which are what takes long."""
    sent, found = survey.to_send, survey.comparison
    new = (found.new_files, found.new_bytes) if found else (sent.files, sent.bytes)
    row = estimate.row(estimate.chosen_pairs)

    def action(files: int, size: int) -> Action:
        share = size / sent.bytes if sent.bytes else 0.0
        return Action(
            files=files, bytes=size, seconds=round(share * row.seconds, 3), cost_usd=round(share * row.cost_usd, 6)
        )

    return DryRun(
        new=action(*new),
        changed=action(sent.files - new[0], sent.bytes - new[1]),
        equal=Action(
            files=found.same_files if found else 0, bytes=found.same_bytes if found else 0, seconds=0, cost_usd=0
        ),
        where=where,
        left=_left(sent.files, sent.bytes, row),
        deleted=deleted,
    )


def _left(files: int, size: int, row: Row) -> Left | None:
    if row.whole_seconds is None or row.whole_seconds_high is None:
        return None
    low, high = row.bounds
    return Left(
        files=files,
        bytes=size,
        seconds=row.seconds,
        seconds_low=low,
        seconds_high=high,
        whole_seconds=row.whole_seconds,
        whole_seconds_low=round(max(2 * row.whole_seconds - row.whole_seconds_high, 0.0), 3),
        whole_seconds_high=row.whole_seconds_high,
    )
