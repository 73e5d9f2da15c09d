"""Changes of the membership record, each under its version."""

from collections.abc import Callable, Iterable

from lambdas.adapters.world import World
from lambdas.core.errors import WriteConflict
from lambdas.core.transfer import Membership, TransferPath

_ATTEMPTS = 8


def change(world: World, transfer_id: str, edit: Callable[[Membership], Membership | None]) -> Membership | None:
    """Apply `edit` to the current record until it is written; None when there is none or nothing to change."""
    for _ in range(_ATTEMPTS):
        current = world.agents.membership(transfer_id)
        edited = edit(current) if current else None
        if edited is None:
            return None
        if world.agents.write_membership(transfer_id, edited):
            return edited
    raise WriteConflict(f"the membership of {transfer_id} changed {_ATTEMPTS} times while it was written")


def join(world: World, transfer_id: str, joining: Iterable[TransferPath]) -> list[str]:
    """Add paths, or replace those of another generation; the ids of what was new."""
    new = {path.path_id: path for path in joining}

    def edit(current: Membership) -> Membership | None:
        known = {path.path_id: path.generation for path in current.paths}
        fresh = {id_: path for id_, path in new.items() if known.get(id_, -1) < path.generation}
        if not fresh:
            return None
        kept = [path for path in current.paths if path.path_id not in fresh]
        return current.changed(paths=[*kept, *fresh.values()])

    before = world.agents.membership(transfer_id)
    known = {path.path_id: path.generation for path in before.paths} if before else {}
    change(world, transfer_id, edit)
    return [id_ for id_, path in new.items() if known.get(id_, -1) < path.generation]


def leave(world: World, transfer_id: str, path_id: str) -> None:
    """Take a path out, so that the sender drains its lanes."""

    def edit(current: Membership) -> Membership | None:
        rest = [path for path in current.paths if path.path_id != path_id]
        return current.changed(paths=rest) if len(rest) < len(current.paths) else None

    change(world, transfer_id, edit)
