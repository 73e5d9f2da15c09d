"""A relay is killed at every counted moment: does the transfer end identical, and how much longer does it take?

Held against the zero-wait model, replayed with the times at which relays really joined and left: what the loss itself
costs is in the model, and the ratio is what detection, chunks sent again and the way back to full speed cost beside it.
"""

import filecmp
import time
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.estimate.scenarios import Machine
from bench.fleet.arithmetic import Caps, replay
from bench.fleet.moments import Moment, changes_of, moments
from bench.fleet.site import MB, CaseError, Machines, Options, Site, site
from bench.results import Result, say
from lambdas.core.chunk import RANGE_SIZE, item_key, range_key
from tests.e2e.account import Run

PAIRS = 2
MOMENTS, QUICK_MOMENTS = 50, 5
ENDS, RELAY = Machine(15, 150), Machine(15, 120)
SIZE = 600
BAR = 1.15
MOMENT_SECONDS = 120
KILL = "systemctl kill --signal=KILL 'cpt-relay-*'"


@dataclass(frozen=True)
class Killed:
    """What came of one transfer. `ratio`: its time over the model's."""

    moment: Moment
    relay: str
    identical: bool
    ratio: float
    replaced: bool


def run(options: Options) -> list[Result]:
    """One transfer for each moment."""
    chosen = moments(QUICK_MOMENTS if options.quick else MOMENTS, 2 * PAIRS)
    with site(Machines(ENDS, RELAY)) as place:
        place.fill(SIZE)
        place.move("first", 1)  # the daemon is fetched to both ends
        content = Random(options.seed)
        with place.file.open("wb") as stream:
            for _ in range(SIZE):
                stream.write(content.randbytes(MB))
        return summary([one(place, moment, f"kill-{number}") for number, moment in enumerate(chosen, 1)])


def one(place: Site, moment: Moment, name: str) -> Killed:
    """Start, kill at the moment, wait for the end, compare."""
    arn = place.start(name, PAIRS)
    victim, at = kill(place, name, moment)
    done = place.finish(arn)
    same = filecmp.cmp(place.file, place.arrived(name), shallow=False)
    place.forget(name)
    found = judge(done, moment, victim["nodeId"], at, place.account.first_byte_at(name), identical=same)
    again = "replaced" if found.replaced else "not replaced"
    say(f"  {name}, {found.relay} at {moment}: {'identical' if same else 'DIFFERS'}, {found.ratio:.3f} ×, {again}")
    return found


def kill(place: Site, name: str, moment: Moment) -> tuple[dict[str, Any], float]:
    """Wait for the moment and kill: the node, and when (Unix time). An instance without a daemon yet is terminated."""

    def come() -> list[dict[str, Any]]:
        nodes = sorted(place.account.nodes(name), key=lambda node: node["nodeId"])
        return nodes if nodes and reached(place, name, moment, nodes) else []

    nodes = place.account.cloud.wait_for(come, MOMENT_SECONDS)
    victim = nodes[moment.victim % len(nodes)]
    at = time.time()
    if victim["state"] == "SPAWNED":
        ec2 = place.account.cloud.client("ec2", victim["region"])
        ec2.terminate_instances(InstanceIds=[victim["instanceId"]])
    else:
        place.account.shell(victim["instanceId"], victim["region"], KILL)
    return victim, at


def reached(place: Site, name: str, moment: Moment, nodes: list[dict[str, Any]]) -> bool:
    """Whether the moment has come."""
    if moment.changes is not None:
        return changes_of(nodes) >= moment.changes
    record = place.account.record(name, "transfer")
    if record is None or "plan" not in record or moment.share is None:
        return False
    chunk = int(moment.share * int(record["plan"]["chunks"]))
    table = place.account.aws.resource("dynamodb").Table("cpt-chunks")
    key = {"rangeKey": range_key(name, chunk // RANGE_SIZE), "itemKey": item_key(chunk)}
    return bool(table.get_item(Key=key)["Item"]["state"] == "DELIVERED")


def judge(done: Run, moment: Moment, relay: str, at: float, first_byte_at: float, *, identical: bool) -> Killed:
    """One transfer against the model of what really joined and left."""
    caps = Caps(ENDS.inter, min(RELAY.inter, RELAY.intra), ENDS.intra)
    nodes = done.report["nodes"]
    model = replay(SIZE, caps, nodes, first_byte_at, {relay: at})
    replaced = any(node["generation"] > 0 and "joinedAt" in node for node in nodes)
    return Killed(moment, relay, identical, done.report["seconds"]["transfer"] / model, replaced)


def summary(found: list[Killed]) -> list[Result]:
    """The rows."""
    if not found:
        raise CaseError("no moment was tried")
    worst = max(found, key=lambda one: one.ratio)
    replaced = [one for one in found if one.replaced]
    over = [f"{one.relay} at {one.moment}" for one in found if one.ratio > BAR]
    identical = sum(one.identical for one in found)
    note = f"worst: {worst.relay} at {worst.moment}; over the bar: {len(over)}; replaced: {len(replaced)}"
    return [
        Result("kill: byte-identical", identical, f"of {len(found)}", len(found), "higher"),
        Result("kill: time over the model with the actual leaves and joins", worst.ratio, "×", BAR, note=note),
    ]
