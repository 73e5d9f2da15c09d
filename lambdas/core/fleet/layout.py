"""Which sender and which receiver a path joins (docs/design/061-many-machines). Nobody else decides it.

Path k joins the living sender k mod N and the living receiver k mod R, so that each machine has a path where there are
`max(N, R)` of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from lambdas.core.fleet.membership import DIRECT, Retired, TransferPath
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.places.machines import EndMachine
from lambdas.core.transfer.accepted import AcceptedTransfer

FIRST_SENDER, FIRST_RECEIVER = "s0", "r0"


class Joint(NamedTuple):
    """The seats at both ends of a path, and how often they have changed."""

    sender: str
    receiver: str
    changes: int


@dataclass(frozen=True)
class Layout:
    """Both ends' seats, and those that were retired, in the order in which that happened.

    `machines`: those of the receivers beyond the first, whose address is resolved; they listen at `port`.
    """

    senders: tuple[str, ...] = (FIRST_SENDER,)
    receivers: tuple[str, ...] = (FIRST_RECEIVER,)
    retired: tuple[str, ...] = ()
    machines: Mapping[str, EndMachine] = field(default_factory=dict)
    port: int = 0

    @classmethod
    def of(cls, transfer: AcceptedTransfer, retired: Iterable[Retired] | None = None) -> "Layout":
        """The layout of a transfer of which these seats count no more."""
        senders, receivers = ([seat.seat_id for seat in seats] for seats in (transfer.senders, transfer.receivers))
        gone = tuple(one.seat_id for one in retired or ())
        machines = {seat.seat_id: seat.machine for seat in transfer.receivers[1:]}
        return cls(tuple(senders), tuple(receivers), gone, machines, transfer.receiver_port)

    @property
    def living_senders(self) -> tuple[str, ...]:
        """Those that send."""
        return _without(self.senders, self.retired)

    @property
    def living_receivers(self) -> tuple[str, ...]:
        """Those that receive."""
        return _without(self.receivers, self.retired)

    @property
    def count(self) -> int:
        """How many direct paths there are."""
        return max(len(self.living_senders), len(self.living_receivers))

    def joint(self, first: int, last: int | None = None) -> Joint:
        """The ends of path `first`, from 0; with `last`, of one that leaves as that path does and arrives as this."""
        arrives, ends = first if last is None else last, []
        for count in range(len(self.retired) + 1):
            gone = self.retired[:count]
            senders, receivers = _without(self.senders, gone), _without(self.receivers, gone)
            ends.append((senders[first % len(senders)], receivers[arrives % len(receivers)]))
        return Joint(*ends[-1], sum(before != after for before, after in pairwise(ends)))

    def direct_paths(self, paths: ResolvedPaths, lanes: int) -> list[TransferPath]:
        """All paths without relays."""
        return [self._direct(number, paths, lanes) for number in range(self.count)]

    def rounds(self) -> list[list[Joint]]:
        """The ends of all direct paths, so that no machine is in two of one round."""
        at_once = min(len(self.living_senders), len(self.living_receivers))
        joints = [self.joint(number) for number in range(self.count)]
        return [joints[first : first + at_once] for first in range(0, len(joints), at_once)]

    def receiver(self, seat_id: str, paths: ResolvedPaths, *, inside: bool = False) -> str:
        """The address at which a receiver takes streams; `inside`: of machines in its VPC."""
        if seat_id == FIRST_RECEIVER:
            return paths.receiver_inside_address if inside else paths.receiver_address
        machine = self.machines[seat_id]
        private, public = machine.private_address, machine.public_address
        return f"{private if inside else paths.outward(private, public)}:{self.port}"

    def _direct(self, number: int, paths: ResolvedPaths, lanes: int) -> TransferPath:
        joint = self.joint(number)
        return TransferPath(
            path_id=direct_id(number),
            generation=joint.changes,
            hops=[],
            receiver=self.receiver(joint.receiver, paths),
            lanes=lanes,
            **seats_of(joint),
        )


def direct_id(number: int) -> str:
    """The id of a path without relays, from 0: `direct`, `direct-1` …"""
    return f"{DIRECT}-{number}" if number else DIRECT


def is_direct(path_id: str) -> bool:
    """Return whether a path has no relays, by its id."""
    return path_id == DIRECT or path_id.removeprefix(f"{DIRECT}-").isdigit()


def seats_of(joint: Joint) -> dict[str, Any]:
    """What the membership says of a path's ends; nothing where they are the first ones."""
    said = {"sender": joint.sender} if joint.sender != FIRST_SENDER else {}
    return said | ({"to": joint.receiver} if joint.receiver != FIRST_RECEIVER else {})


def _without(seats: Sequence[str], retired: Sequence[str]) -> tuple[str, ...]:
    return tuple(seat_id for seat_id in seats if seat_id not in retired)


ONE_AND_ONE = Layout()
