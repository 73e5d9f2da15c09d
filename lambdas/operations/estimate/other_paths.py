"""What earlier transfers have shown of other paths than that of a transfer, which nobody has measured."""

from lambdas.adapters.world import World
from lambdas.core.estimate import measured
from lambdas.core.estimate.figures import Figure
from lambdas.core.transfer.accepted import AcceptedTransfer


def other_paths(transfer: AcceptedTransfer, types: list[str], world: World) -> list[Figure]:
    """What is known of paths out of the source's region and into the destination's, by relays of the same types."""
    source, destination = transfer.source_region, transfer.destination_region
    others = [region for region in world.env.regions if region not in (source, destination)]
    pairs = [*(f"{source}>{region}" for region in others), *(f"{region}>{destination}" for region in others)]
    keys = [(kind, pair) for pair in pairs for kind in types]
    found = world.profiles.get_all(keys) if keys and source != destination else {}
    paths = [
        measured.figure(profile, "interRegion", f"{kind} pairs, {pair}") for (kind, pair), profile in found.items()
    ]
    return [one for one in paths if one]
