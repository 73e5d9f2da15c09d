"""The places of a transfer's relays and the way of its data: routes are data (docs/design/019-routes.md).

`pair_of` lays out today's routes; `Stage.node_id` and `path_id` give names, which only this module reads again. Nobody
else tells one stage from another by a word.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lambdas.core.fleet.relay_node import Node
from lambdas.core.transfer import RELAY_PORT, AcceptedTransfer, EndMachine, ResolvedPaths

GroupKind = Literal["relay", "endpoint"]
PAIR = ("source", "destination")
_PATH_ID = re.compile(r"(?:pair|route)-([0-9]+(?:-[0-9]+)*)")


@dataclass(frozen=True)
class Stage:
    """`count` relays side by side in one VPC; their slots are numbered from 1, stages from 0 at the source's side.

    `name` is for people: it stands in node ids, tags and messages. `end`: the end machine in the same VPC, if any.
    """

    index: int
    name: str
    region: str
    vpc_id: str
    count: int = 0
    end: EndMachine | None = None

    @property
    def slots(self) -> range:
        """Slots of its relays."""
        return range(1, self.count + 1)

    @property
    def zone(self) -> str:
        """The zone in which traffic to and from the end is free; empty where the stage is beside no end."""
        return self.end.availability_zone if self.end else ""

    @property
    def subnet_id(self) -> str:
        """The subnet that is tried first; empty for none."""
        return self.end.subnet_id if self.end else ""

    @property
    def where(self) -> str:
        """The place in words, e.g. `vpc-1 (us-west-2), the VPC of i-0123456789abcdef0`."""
        return self.end.where if self.end else f"{self.vpc_id} ({self.region})"

    def node_id(self, slot: int, generation: int) -> str:
        """E.g. `source-1-0`."""
        return f"{self.name}-{slot}-{generation}"


@dataclass(frozen=True)
class Route:
    """Stages in the order in which data passes them, one relay of each. Hop n leads to stage n, the last to the end."""

    source: EndMachine
    stages: tuple[Stage, ...]
    destination: EndMachine

    @property
    def places(self) -> list[EndMachine | Stage]:
        """Everything that data passes; hop n joins place n and the next one."""
        return [self.source, *self.stages, self.destination]

    @property
    def regions(self) -> list[str]:
        """Every region in which something may have been started or opened."""
        return sorted({place.region for place in self.places})

    def is_inside(self, hop: int) -> bool:
        """Return whether a hop stays in one VPC."""
        before, after = self.places[hop : hop + 2]
        return (before.region, before.vpc_id) == (after.region, after.vpc_id)

    def address(self, hop: int, paths: ResolvedPaths, private: str, public: str | None) -> str:
        """The address by which one machine of a hop knows the other; raises LookupError as `ResolvedPaths.outward`."""
        return private if self.is_inside(hop) else paths.outward(private, public)

    def in_other_zone(self, node: Node) -> bool:
        """Return whether what goes between the relay and its end is charged as traffic between zones."""
        stage = self.stages[node.stage]
        return stage.end is not None and node.availability_zone != stage.zone

    def partners(self, node: Node) -> set[tuple[int, int]]:
        """Stage and slot of the relays with which a relay makes up a path of one slot."""
        return {(stage.index, node.slot) for stage in self.stages if stage.index != node.stage}


def pair_of(source: EndMachine, destination: EndMachine, counts: Sequence[int] = (0, 0)) -> Route:
    """Today's layout: a stage of relays beside each end, `counts` of them."""
    beside = zip(PAIR, (source, destination), counts, strict=True)
    stages = (Stage(index, name, end.region, end.vpc_id, count, end) for index, (name, end, count) in enumerate(beside))
    return Route(source, tuple(stages), destination)


def route_of(transfer: AcceptedTransfer, counts: Sequence[int] = (0, 0)) -> Route:
    """The route of an accepted transfer's relays."""
    return pair_of(transfer.source, transfer.destination, counts)


class Admission(NamedTuple):
    """One of a VPC's groups lets an address in at a port."""

    place: Stage | EndMachine
    group: GroupKind
    address: str
    port: int


def admissions(
    route: Route, paths: ResolvedPaths, node: Node, existing: Collection[int], receiver_port: int
) -> list[Admission]:
    """Return the rules for a relay that has its addresses: its own stage to the source, the next machines to itself.

    So a stage admits exactly the one before it. `existing`: stages with machines of the user, which are in the group
    of the ends.
    """
    here, hop = route.stages[node.stage], node.stage + 1
    found = []
    if hop == 1:
        source = route.source.private_address if route.is_inside(0) else paths.source_address
        found.append(Admission(here, "endpoint" if node.existing else "relay", source, RELAY_PORT))
    own = route.address(hop, paths, node.private_address, node.public_address)
    if hop == len(route.stages):
        return [*found, Admission(route.destination, "endpoint", own, receiver_port)]
    groups: list[GroupKind] = ["relay", "endpoint"] if hop in existing else ["relay"]
    return found + [Admission(route.stages[hop], group, own, RELAY_PORT) for group in groups]


def path_id(slots: Sequence[int]) -> str:
    """The id of the path through one relay of each stage: `pair-2` where they share a slot, else `pair-2-3`."""
    numbers = slots if len(set(slots)) > 1 else slots[:1]
    return "-".join(("pair" if len(slots) == len(PAIR) else "route", *map(str, numbers)))


def slot_at(path: str, stage: int) -> int | None:
    """The slot of the relay at `stage` through which a path leads; None where it passes none there."""
    slots = _slots(path)
    if len(slots) == 1:
        return slots[0]
    return slots[stage] if stage < len(slots) else None


def leads_through(path: str, node: Node) -> bool:
    """Return whether a path leads through the relay of this stage and slot."""
    return slot_at(path, node.stage) == node.slot


def share_relays(paths: Iterable[str]) -> bool:
    """Return whether two of the paths lead through one relay: then no path's rate is that of its relays."""
    relayed = [path for path in paths if _slots(path)]
    stages = range(max((len(_slots(path)) for path in relayed), default=0))
    used = [(stage, slot_at(path, stage)) for path in relayed for stage in stages]
    return len(set(used)) < len(used)


def _slots(path: str) -> list[int]:
    """One for each stage, or the one that all share; none for the direct path."""
    match = _PATH_ID.fullmatch(path)
    return [int(slot) for slot in match[1].split("-")] if match else []
