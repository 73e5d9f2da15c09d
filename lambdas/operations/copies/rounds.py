"""Rounds of the listing, as the state machine asks for them."""

from lambdas.adapters.world import World
from lambdas.core.copies.summary import Copies
from lambdas.core.copies.units import Position, Round
from lambdas.core.errors import BudgetReached
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.listing import Listing
from lambdas.operations.copies.notebook import Notebook
from lambdas.operations.copies.opening import open_buckets
from lambdas.operations.fence import serving


def list_round(world: World, transfer: AcceptedTransfer, before: Round) -> Round:
    """The round after this one; raises BudgetReached, TransferFenced."""
    record = serving(world, transfer, TransferRecord)
    number = before.number + 1
    # Where an answer was lost, what its function has found is given again.
    known = Notebook(world, transfer).position(number)
    position = known or Listing(world, transfer, open_buckets(world, transfer), number, before.width).run()
    _note(world, record, position)
    return position.round


def _note(world: World, record: TransferRecord, position: Position) -> None:
    """Tell those who watch what was found, and hold the budget by it."""
    before = record.copies.units if record.copies and record.copies.rounds < position.round.number else 0
    copies = Copies.listing(position, before + position.round.units)
    world.transfers.change(record.transfer, transfer_life.note(copies=copies))
    most = record.transfer.request.objective.max_cost_usd
    restored = record.restores.total_usd if record.restores else 0.0
    least = copies.least_usd(record.transfer.copied_ends[1].storage_class)
    if most is not None and not record.transfer.request.dry_run and least + restored > most:
        also = f" beside the ${restored:,.2f} for restoring" if restored else ""
        raise BudgetReached(
            f"what was found so far, {copies.planned:,} objects of {copies.planned_bytes / 1e9:,.1f} GB, takes "
            f"${least:,.2f} of requests to copy{also}, and $.objective.maxCostUsd is {most}; what was "
            "copied stays, and is not copied again"
        )
