"""A relay is killed at every counted moment: does the transfer end identical, and how much longer does it take?

Held against the zero-wait model, replayed with the times at which relays really joined and left: what the loss itself
costs is in the model, and the ratio is what detection, chunks sent again and the way back to full speed cost beside it.
"""

import filecmp
import time
from dataclasses import dataclass
from random import Random
from typing import Any

from botocore.exceptions import ClientError

from bench.estimate.scenarios import Machine
from bench.fleet.arithmetic import Caps, replay
from bench.fleet.moments import Moment, changes_of, moments
from bench.fleet.site import MB, CaseError, Machines, Options, Site, site
from bench.results import Result, say
from lambdas.core.chunks.chunk import RANGE_SIZE, item_key, range_key

PAIRS = 2
MOMENTS, QUICK_MOMENTS = 50, 5
ENDS, RELAY = Machine(15, 150), Machine(15, 120)
SIZE = 900
BAR = 1.15
MOMENT_SECONDS = 120
KILL = "systemctl kill --signal=KILL 'cpt-relay-*'"


@dataclass(frozen=True)
class Killed:
    """What came of one transfer. `in_time`: the relay was there to be killed; `ratio`: the time over the model's."""

    moment: Moment
    relay: str
    identical: bool
    in_time: bool
    ratio: float
    replaced: bool

    def __str__(self) -> str:
        words = ("identical" if self.identical else "DIFFERS", "" if self.in_time else "gone before it was killed")
        again = "replaced" if self.replaced else "not replaced"
        return ", ".join([f"{self.relay} at {self.moment}", *filter(None, words), f"{self.ratio:.3f} ×", again])


def run(options: Options) -> list[Result]:
    """One transfer for each moment."""
    chosen = moments(QUICK_MOMENTS if options.quick else MOMENTS, 2 * PAIRS)
    with site(Machines(ENDS, RELAY)) as place:
        place.begin()
        place.fill(SIZE)
        content = Random(options.seed)
        with place.file.open("wb") as stream:
            for _ in range(SIZE):
                stream.write(content.randbytes(MB))
        return summary([one(place, moment, f"kill-{number}") for number, moment in enumerate(chosen, 1)])


def one(place: Site, moment: Moment, name: str) -> Killed:
    """Start, kill at the moment, wait for the end, compare."""
    arn = place.start(name, PAIRS)
    victim = come(place, name, moment)
    at = kill(place, victim)
    report = place.finish(arn).report
    killed = {} if at is None else {victim["nodeId"]: at}
    caps = Caps(ENDS.inter, min(RELAY.inter, RELAY.intra), ENDS.intra)
    model = replay(SIZE, caps, report["nodes"], place.account.first_byte_at(name), killed)
    found = Killed(
        moment,
        relay=victim["nodeId"],
        identical=filecmp.cmp(place.file, place.arrived(name), shallow=False),
        in_time=at is not None,
        ratio=report["seconds"]["transfer"] / model,
        replaced=any(node["generation"] > 0 and "joinedAt" in node for node in report["nodes"]),
    )
    place.forget(name)
    say(f"  {name}, {found}")
    return found


def come(place: Site, name: str, moment: Moment) -> dict[str, Any]:
    """Wait for the moment; the node to kill."""

    def nodes_by_then() -> list[dict[str, Any]]:
        nodes = sorted(place.account.nodes(name), key=lambda node: node["nodeId"])
        return nodes if nodes and reached(place, name, moment, nodes) else []

    nodes = place.account.cloud.wait_for(nodes_by_then, MOMENT_SECONDS)
    return nodes[moment.victim % len(nodes)]


def kill(place: Site, victim: dict[str, Any]) -> float | None:
    """Kill the relay, or terminate its instance where no daemon runs yet: when (Unix time); None if it had gone."""
    at, region = time.time(), victim["region"]
    try:
        if victim["state"] == "SPAWNED":
            place.account.cloud.client("ec2", region).terminate_instances(InstanceIds=[victim["instanceId"]])
        else:
            place.account.shell(victim["instanceId"], region, KILL)
    except ClientError as error:
        if "InvalidInstance" not in error.response["Error"]["Code"]:
            raise
        return None
    return at


def reached(place: Site, name: str, moment: Moment, nodes: list[dict[str, Any]]) -> bool:
    """Whether the moment has come."""
    if moment.changes is not None:
        return changes_of(nodes) >= moment.changes
    record = place.account.record(name, "transfer")
    if record is None or "plan" not in record or moment.share is None:
        return False
    chunk = int(moment.share * int(record["plan"]["chunks"]))
    table = place.account.aws.resource("dynamodb").Table("cpt-chunks")
    key = {"rangeKey": range_key(place.account.shared(name), chunk // RANGE_SIZE), "itemKey": item_key(chunk)}
    return bool(table.get_item(Key=key)["Item"]["state"] == "DELIVERED")


def summary(found: list[Killed]) -> list[Result]:
    """The rows."""
    if not found:
        raise CaseError("no moment was tried")
    worst = max(found, key=lambda one: one.ratio)
    good = sum(one.identical and one.in_time for one in found)
    late = sum(not one.in_time for one in found)
    over = sum(one.ratio > BAR for one in found)
    replaced = sum(one.replaced for one in found)
    note = f"worst: {worst.relay} at {worst.moment}; over the bar: {over}; replaced: {replaced}"
    return [
        Result("kill: byte-identical", good, f"of {len(found)}", len(found), "higher", f"killed too late: {late}"),
        Result("kill: time over the model with the actual leaves and joins", worst.ratio, "×", BAR, note=note),
    ]
