"""Every minute, and as transfers come and go: each region's pool gets the nodes that are wanted, and leases end."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.operations.pool import keeping
from lambdas.operations.side_by_side import look_at_each
from lambdas.runtime.handler import BusEvent, event_rule, raise_broken


def keep_pool(_event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was done, by region; nothing of one at which another run looks."""
    regions = {region: region for region in world.env.pool_regions}
    looked = look_at_each(regions, lambda region: _kept(world, region))
    raise_broken(region=looked.broken)
    return looked.found


def _kept(world: World, region: str) -> dict[str, Any]:
    kept = keeping.keep(world, region)
    return kept.to_document() if kept else {}


handler = event_rule(keep_pool, hurried=True)
