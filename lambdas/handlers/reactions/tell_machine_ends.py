"""EC2's events about machines that end, from a queue: the transfers that they concern are told, each by an event.

Most are about machines of nobody's transfer. So this asks the tables alone, and whatever may take longer is done by
whom it tells.
"""

from collections import defaultdict

from lambdas.adapters.world import World
from lambdas.core.fleet.relay_node import LIVE_STATES
from lambdas.runtime.batches import queued
from lambdas.runtime.handler import BusEvent

# Nobody but AWS puts events of its sources onto a bus.
EC2 = "aws.ec2"
SPOT_WARNING = "EC2 Spot Instance Interruption Warning"


def tell_machine_ends(event: BusEvent, world: World) -> dict[str, list[str]]:
    """Put Relay Lost or Relay Warned for its relays, and End Lost where it is an end; what was told, by transfer."""
    if event.source != EC2:
        return {}  # such as what an end has put onto the bus
    if event.tells_of_an_end:
        kind, message = "Relay Lost", f"its instance is {event.detail['state']}"
    elif event.detail_type == SPOT_WARNING:
        kind, message = "Relay Warned", "spot interruption in two minutes"
    else:
        return {}  # a machine in another state still carries data, or will
    told = defaultdict[str, list[str]](list)
    for node in world.nodes.by_instance(event.instance_id):
        # What becomes of one that has ended is for the reconciler. A lent machine may have been stopped, and
        # started again, before the transfer took it: the event is of before then.
        if node.state in LIVE_STATES and not event.is_older_than(node.requested_at):
            world.events.put(kind, {**node.about, "message": message})
            told[node.transfer_id].append(f"{kind}: {node.node_id}")
    for transfer_id in world.transfers.ids_with_end(event.instance_id) if event.tells_of_an_end else []:
        world.events.put("End Lost", {"transferId": transfer_id, "instanceId": event.instance_id})
        told[transfer_id].append("End Lost")
    return dict(told)


handler = queued(tell_machine_ends)
