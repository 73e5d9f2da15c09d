"""Verify Transfer: every chunk delivered, every entry's digest the same at both ends; then files are listed by name."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from lambdas.adapters.world import World
from lambdas.core.chunks.digest_diff import NAMED, Digest, compare
from lambdas.core.chunks.file_list import Digests
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.documents import Handover
from lambdas.core.errors import FilesSkipped, VerificationFailed
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.chunks import entry_list, file_list, skipped
from lambdas.runtime.handler import task_state

# The receiver checkpoints in batches; its last one may come just after the sender has announced the end.
CHECKPOINT_SECONDS = 10.0


class VerifyInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    plan: TransferPlan


def verify_transfer(event: VerifyInput, world: World) -> dict[str, Any]:
    """`{"verified": true, "files": n}`; raises VerificationFailed, FilesSkipped.

    Where the request allows entries to be left out, and some were: `"verified": false` with `"skipped": m`.
    """
    transfer, plan = event.transfer, event.plan
    entries = _await_delivered(world, transfer, plan)
    digests = Digests("digest" if transfer.request.tells_content else "crc64")
    sender, receiver = _finished(world, transfer)
    received = digests.noting(_digests(world, transfer, plan, receiver))
    found = compare(_digests(world, transfer, plan, sender), received)
    if not found.clean:
        raise VerificationFailed(
            f"entries whose digests differ: {found.different}; with a digest at the sender only: {found.sender_only}; "
            f"at the receiver only: {found.receiver_only} (at most {NAMED} of each); run the transfer again"
        )
    left_out = _skipped(world, transfer, plan)
    without = left_out.entries if left_out else 0
    if found.equal + without != entries:
        but = f" and {without} of them were left out" if without else ""
        raise VerificationFailed(f"{found.equal} entries have digests at both ends, the plan has {entries}{but}")
    file_list.write(world, transfer, plan, digests)
    entry_list.write(world, transfer, plan, digests, world.transfers.get(transfer.transfer_id))
    if left_out is None:
        return {"verified": True, "files": plan.files}
    if transfer.request.on_problem == "fail":
        raise FilesSkipped(left_out.words)
    return {"verified": False, "files": plan.files - left_out.files, "skipped": left_out.entries}


class _LeftOut(NamedTuple):
    entries: int
    files: int
    words: str


def _skipped(world: World, transfer: AcceptedTransfer, plan: TransferPlan) -> _LeftOut | None:
    """Return what the sender says that it left out, once the list agrees with that; None where nothing was."""
    record = world.transfers.get(transfer.transfer_id)
    told = skipped.count(record) if record else 0
    if record is None or not told:
        return None
    entries, files = skipped.keep(world, transfer, plan.plan_id)
    found = skipped.read(world, record)
    if found is None or entries != told:
        raise VerificationFailed(f"{told} entries were left out, {entries} are listed; run the transfer again")
    return _LeftOut(entries, files, found.words())


def _await_delivered(world: World, transfer: AcceptedTransfer, plan: TransferPlan) -> int:
    """Return how many entries the chunks hold."""
    deadline = world.clock.monotonic() + CHECKPOINT_SECONDS
    while True:
        items = entries = 0
        missing: list[str] = []
        for chunk in world.chunks.read(transfer.partition, plan):
            items += 1
            entries += chunk.files
            if chunk.plan_id != plan.plan_id:
                raise VerificationFailed(f"chunk {chunk.chunk} is of plan {chunk.plan_id}, not of {plan.plan_id}")
            if chunk.state != "DELIVERED" and len(missing) < NAMED:
                missing.append(f"{chunk.chunk} ({chunk.state}, attempt {chunk.attempt})")
        if items == plan.chunks and not missing:
            return entries
        if world.clock.monotonic() >= deadline:
            raise VerificationFailed(f"{items} of {plan.chunks} chunks have items; not delivered: {', '.join(missing)}")
        world.clock.sleep(world.env.poll_seconds)


def _finished(world: World, transfer: AcceptedTransfer) -> tuple[str, str]:
    """The sender and the receiver whose digests are those of all."""
    first = transfer.senders[0].seat_id, transfer.receivers[0].seat_id
    if len(transfer.senders) + len(transfer.receivers) == len(first):
        return first
    found = world.chunks.finish(transfer.partition)
    return (found.seat, found.receiver) if found else first


def _digests(world: World, transfer: AcceptedTransfer, plan: TransferPlan, seat_id: str) -> Iterator[Digest]:
    for key in world.objects.keys(world.shared_key(transfer, f"digests/{plan.plan_id}/{seat_id}/")):
        for line in world.objects.lines(key):
            if line.strip():
                digest = json.loads(line)
                yield Digest(digest["entry"], digest["digest"])


handler = task_state("Verify Transfer", VerifyInput, verify_transfer)
