"""Verify Transfer: every chunk delivered, every entry's digest the same at both ends; then files are listed by name."""

import json
from collections.abc import Iterator
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import VerificationFailed
from lambdas.core.file_list import Digests
from lambdas.core.progress import Side
from lambdas.core.transfer import AcceptedTransfer, TransferPlan
from lambdas.core.verify import NAMED, Digest, compare
from lambdas.operations import file_list
from lambdas.runtime.handler import task_state

# The receiver checkpoints in batches; its last one may come just after the sender has announced the end.
CHECKPOINT_SECONDS = 10.0


class VerifyInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    plan: TransferPlan


def verify_transfer(event: VerifyInput, world: World) -> dict[str, Any]:
    """`{"verified": true, "files": n}`; raises VerificationFailed."""
    transfer, plan = event.transfer, event.plan
    entries = _await_delivered(world, transfer, plan)
    digests = Digests()
    received = digests.noting(_digests(world, transfer, plan, "receiver"))
    found = compare(_digests(world, transfer, plan, "sender"), received)
    if not found.clean:
        raise VerificationFailed(
            f"entries whose digests differ: {found.different}; with a digest at the sender only: {found.sender_only}; "
            f"at the receiver only: {found.receiver_only} (at most {NAMED} of each); run the transfer again"
        )
    if found.equal != entries:
        raise VerificationFailed(f"{found.equal} entries have digests at both ends, the plan has {entries}")
    file_list.write(world, transfer, digests)
    return {"verified": True, "files": plan.files}


def _await_delivered(world: World, transfer: AcceptedTransfer, plan: TransferPlan) -> int:
    """How many entries the chunks hold."""
    deadline = world.clock.monotonic() + CHECKPOINT_SECONDS
    while True:
        items = entries = 0
        missing: list[str] = []
        for chunk in world.chunks.read(transfer.shared, plan):
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


def _digests(world: World, transfer: AcceptedTransfer, plan: TransferPlan, side: Side) -> Iterator[Digest]:
    for key in world.objects.keys(world.shared_key(transfer, f"digests/{plan.plan_id}/{side}/")):
        for line in world.objects.lines(key):
            if line.strip():
                digest = json.loads(line)
                yield Digest(digest["entry"], digest["digest"])


handler = task_state("Verify Transfer", VerifyInput, verify_transfer)
