"""The end of copies: everything summed up, and what is left out named."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.skipped import NAMED, Skipped, SkippedEntry
from lambdas.core.copies.summary import Copies
from lambdas.core.copies.units import Position
from lambdas.core.errors import FilesSkipped, VerificationFailed
from lambdas.core.record import transfer_life
from lambdas.core.survey.survey import LeftAlone, Same, Unselected
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.listing import left_out_line
from lambdas.operations.copies.notebook import Notebook

_AT_ONCE = 16
_TIMES = ("beganAt", "endedAt")


def finish(world: World, transfer: AcceptedTransfer, last: int) -> dict[str, Any]:
    """`{"verified": true, "files": n}` after `last` rounds; raises FilesSkipped, VerificationFailed.

    Not verified: something was left out, or S3 has no checksum that proves some copies.
    """
    notebook = Notebook(world, transfer)
    position = notebook.position(last)
    if position is None:
        raise VerificationFailed(f"the listing's round {last} is not there; run the transfer again")
    storage_class = transfer.copied_ends[1].storage_class
    copies, with_left = _summed(notebook, position, storage_class)
    is_complete = copies.objects + copies.left == copies.planned
    expected = copies.expected(transfer.source_region, transfer.destination_region, storage_class)
    is_over = is_complete and not transfer.request.dry_run
    copies = copies.model_copy(update={"complete": is_over, "estimate": expected})
    _note(world, transfer, notebook, position, copies)
    if transfer.request.dry_run:
        return {"verified": False, "files": 0}
    if not is_complete:
        raise VerificationFailed(
            f"{copies.objects} objects were copied and {copies.left} left out, of {copies.planned}; run the transfer "
            "again"
        )
    if copies.left:
        _name_left(notebook, with_left)
        if transfer.request.on_problem == "fail" and (found := skipped(world, transfer, copies)):
            raise FilesSkipped(found.words())
        return {"verified": False, "files": copies.objects, "skipped": copies.left}
    return {"verified": copies.verified, "files": copies.objects}


def _summed(notebook: Notebook, last: Position, storage_class: str | None) -> tuple[Copies, list[tuple[int, int]]]:
    """The whole, and the units that have left something out."""
    rounds = [notebook.position(number) for number in range(1, last.round.number + 1)]
    units = [(one.round.number, unit) for one in rounds if one for unit in range(one.round.units)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        each = list(pool.map(lambda place: notebook.sum(*place), units))
    sums = Counter[str]()
    for one in each:
        sums.update({name: count for name, count in one.items() if name not in _TIMES})
    times = {
        "began_at": min((one["beganAt"] for one in each if "beganAt" in one), default=None),
        "ended_at": max((one["endedAt"] for one in each if "endedAt" in one), default=None),
    }
    with_left = [place for place, one in zip(units, each, strict=True) if one.get("left")]
    copies = Copies.listing(last, len(units)).with_sums(sums, last.counts, storage_class)
    return copies.model_copy(update=times), with_left


def _note(world: World, transfer: AcceptedTransfer, notebook: Notebook, last: Position, copies: Copies) -> None:
    counts = last.counts
    noted: dict[str, Any] = {"copies": copies}
    if counts.get("same"):
        noted["same"] = Same(files=counts["same"], bytes=counts["sameBytes"])
    if counts.get("left-alone"):
        noted["left_alone"] = LeftAlone(entries=counts["left-alone"], bytes=counts["left-aloneBytes"])
    unselected = {
        name.removeprefix("unselected "): count for name, count in counts.items() if name.startswith("unselected ")
    }
    if unselected:
        where = f"s3://{world.env.control_bucket}/{notebook.prefix}unselected/"
        noted["unselected"] = Unselected.from_document({"counts": unselected, "where": where})
    world.transfers.change(transfer, transfer_life.note(**noted))


def _name_left(notebook: Notebook, units: list[tuple[int, int]]) -> None:
    """List by name what units have left out: by their results, so that it is done twice without harm."""
    for number, unit in units:
        lines = [
            left_out_line(one.number, one.key, str(one.reason), one.message or "")
            for one in notebook.results(number, unit)
            if one.there is None
        ]
        notebook.put_left(f"{number:05d}-{unit:04d}", lines)


def skipped(world: World, transfer: AcceptedTransfer, copies: Copies | None) -> Skipped | None:
    """What is left out, for an error and a report; None where nothing is, or it is not listed yet."""
    if copies is None or not copies.left:
        return None
    notebook = Notebook(world, transfer)
    first = [SkippedEntry.model_validate_json(line) for line in islice(notebook.left(), NAMED)]
    return Skipped(count=copies.left, first=first, where=f"s3://{world.env.control_bucket}/{notebook.prefix}left/")
