"""How many relays each side gets for a number of pairs, and which of them must be launched and paid."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from lambdas.core.fleet.relay_node import ROLES, Role
from lambdas.core.request import RelaysRequest
from lambdas.core.transfer import AcceptedTransfer


@dataclass(frozen=True)
class RelayCounts:
    """What a request says of its relays; `existing`: machines of the user on each side, which take the first slots."""

    relays: RelaysRequest = field(default_factory=RelaysRequest)
    existing: Mapping[Role, int] = field(default_factory=dict)

    @classmethod
    def of(cls, transfer: AcceptedTransfer) -> Self:
        """That of an accepted transfer."""
        return cls(transfer.request.relays, Counter(machine.role for machine in transfer.existing))

    def slots(self, role: Role, pairs: int) -> list[int]:
        """Slots of one side: as many as pairs, or as were asked for where the sides differ and none had to go."""
        sides = self.relays.sides
        count = getattr(sides, role) if sides and pairs == self.relays.wanted else pairs
        return list(range(1, count + 1))

    def to_launch(self, role: Role, pairs: int) -> list[int]:
        """Slots that no existing machine fills."""
        return self.slots(role, pairs)[self.existing.get(role, 0) :]

    def places(self, pairs: int) -> dict[Role, list[int]]:
        """What is to be launched on each side; a side that needs nobody is left out."""
        return {role: slots for role in ROLES if (slots := self.to_launch(role, pairs))}

    def launched(self, pairs: int) -> int:
        """Relays of both sides that are launched, and paid."""
        return sum(len(self.to_launch(role, pairs)) for role in ROLES)

    def most_pairs(self, relays: int, pairs: int) -> int:
        """The most of `pairs` for which no more than `relays` are launched."""
        return next(fewer for fewer in range(pairs, -1, -1) if self.launched(fewer) <= relays)

    def notes(self, pairs: int) -> list[str]:
        """What the rows of an estimate do not say."""
        counts = [len(self.slots(role, pairs)) for role in ROLES]
        notes = []
        if counts[0] != counts[1]:
            notes.append(
                f"{counts[0]} relays at the source and {counts[1]} at the destination: like ones carry what "
                f"{min(counts)} pairs do, and the row of {pairs} pairs pays for all that are launched"
            )
        if lent := sum(counts) - self.launched(pairs):
            notes.append(
                f"{lent} of {sum(counts)} relays exist and cost the transfer nothing; with a share of "
                f"{self.relays.existing_share:g} they may carry less than the rows count on"
            )
        return notes


PAIRS = RelayCounts()
