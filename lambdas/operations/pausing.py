"""A transfer that a person pauses: no chunk is begun, its relays go back at once, and come again when it goes on."""

from collections.abc import Callable

from lambdas.adapters.world import World
from lambdas.core.errors import CptError, NotMoving, WriteConflict
from lambdas.core.fleet import pairing
from lambdas.core.fleet.answer import Answer
from lambdas.core.fleet.relay_node import JOIN_TIMEOUT_SECONDS, LIVE_STATES
from lambdas.core.fleet.topology import routes_of
from lambdas.core.record import transfer_life
from lambdas.core.record.pause import Pause
from lambdas.core.record.transfer_record import Estimated, Spawned, TransferRecord
from lambdas.operations import named
from lambdas.operations.fence import running
from lambdas.operations.fleet import growth, membership, relay_end
from lambdas.operations.fleet.relay_start import await_ready
from lambdas.operations.fleet.spawned import note_spawned
from lambdas.operations.seats import reports

_ATTEMPTS = 8
CAUSE = "the transfer is paused"
# States that launch relays: while one of them is at work, nobody else launches.
_LAUNCHING = ("Decide Relays", "Spawn Relays", "Await Relays", "Pre-Test Relays", "Join Relays")


def pausable(world: World, transfer_id: str) -> TransferRecord:
    """Its record; raises NoSuchTransfer, or NotMoving where it cannot be paused, or go on."""
    record = named.transfer(world, transfer_id)
    if why := record.transfer.errand.why_not_paused:
        raise NotMoving(f"'{transfer_id}' {why}")
    if not record.moving:
        raise NotMoving(f"'{transfer_id}' is over, or is being taken down; nothing was changed")
    told = reports.of_senders(world, record.transfer).values()
    if told and all(progress.membership_version is None for progress in told):
        raise NotMoving(
            f"'{transfer_id}' was started before the deployment was updated, and its daemons know no pause; "
            "limit it, or cancel it and start it with --resume"
        )
    return record


def change(world: World, transfer_id: str, edit: Callable[[Pause], Pause | None]) -> TransferRecord | None:
    """Note what `edit` makes of the pause, then tell the senders; None where it makes nothing, and nothing changes."""
    for _ in range(_ATTEMPTS):
        record = pausable(world, transfer_id)
        edited = edit(record.pause or Pause())
        if edited is None:
            membership.follow_pause(world, record.transfer)
            return None
        # Looks from before, compared with those that follow, would say that the rate fell.
        watch = record.watch.model_copy(update={"looks": []})
        if noted := world.transfers.change(record.transfer, transfer_life.note(pause=edited, watch=watch)):
            membership.follow_pause(world, record.transfer)
            return noted
    raise WriteConflict(f"the pause of {transfer_id} changed {_ATTEMPTS} times while it was set")


def settle(world: World, record: TransferRecord) -> str | None:
    """What a look does: relays of a paused transfer go back, those that one is owed are asked for again."""
    membership.follow_pause(world, record.transfer)
    pause = record.pause
    if pause is None or not record.moving:
        return None
    if pause.paused:
        live = [node for node in world.nodes.of(record.transfer.transfer_id) if node.state in LIVE_STATES]
        if live:
            relay_end.release_all(world, record.transfer, CAUSE)
        return "paused"
    if pause.owed:
        ask_for_relays(world, record)
        return "owed"
    return None


def ask_for_relays(world: World, record: TransferRecord) -> None:
    """Those that it had before the pause are to be launched again."""
    world.events.put("Transfer Unpaused", {"transferId": record.transfer.transfer_id})


def launch_again(world: World, transfer_id: str) -> Answer:
    """Launch what a transfer that goes on was given back, once, where it still pays; what was done."""
    record = running(world, transfer_id)
    if record is None:
        return Answer.OVER
    pause = record.pause
    if pause is None or not pause.owed:
        return Answer.KNOWN
    if any(name in record.stages and "leftAt" not in record.stages[name] for name in _LAUNCHING):
        return Answer.KNOWN  # the next look asks again
    if not world.transfers.change(record.transfer, transfer_life.note(pause=pause.settled())):
        return Answer.KNOWN  # somebody else launches them, or it was paused again
    paths = _wanted(record)
    if not paths or not _pays(world, record):
        return Answer.KEPT
    try:
        launched = growth.launch_routes(world, record, record.estimate, paths, since=pause.at)
    except CptError as error:
        note_spawned(world, record, Spawned(wanted=paths, launched=0, notes=[f"{type(error).__name__}: {error}"]))
        raise
    pairs = pairing.strength(routes_of(record.transfer), launched.nodes, "SPAWNED")
    note_spawned(world, record, Spawned(wanted=paths, launched=pairs, notes=launched.notes))
    nodes = await_ready(world, record, join_at_once=True, seconds=JOIN_TIMEOUT_SECONDS)
    relay_end.release_singles(world, record.transfer, nodes)
    return Answer.GROWN


def _wanted(record: Estimated) -> int:
    """Paths through relays, as they were decided about last."""
    return record.decisions[-1].pairs if record.decisions else sum(use.paths for use in record.estimate.routes)


def _pays(world: World, record: Estimated) -> bool:
    """Return whether the direct path is still busy with the rest when relays could join."""
    progress = reports.of_sender(world, record.transfer)
    left = record.plan.bytes - (progress.bytes if progress else 0)
    figures = record.estimate.figures
    return left / 1e6 > figures.direct.now * figures.spawn.value
