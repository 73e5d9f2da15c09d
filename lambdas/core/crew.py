"""How many relays each side gets for a number of pairs, and which of them must be launched and paid."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lambdas.core.fleet import ROLES, Role
from lambdas.core.request import RelaysRequest


@dataclass(frozen=True)
class Crew:
    """What a request says of its relays; `existing`: machines of the user on each side, which take the first slots."""

    relays: RelaysRequest = field(default_factory=RelaysRequest)
    existing: Mapping[Role, int] = field(default_factory=dict)

    def slots(self, role: Role, pairs: int) -> list[int]:
        """Slots of one side: as many as pairs, or as were asked for where the sides differ and none had to go."""
        sides = self.relays.sides
        count = getattr(sides, role) if sides and pairs == self.relays.wanted else pairs
        return list(range(1, count + 1))

    def to_launch(self, role: Role, pairs: int) -> list[int]:
        """Slots that no existing machine fills."""
        return self.slots(role, pairs)[self.existing.get(role, 0) :]

    def launched(self, pairs: int) -> int:
        """Relays of both sides that are launched, and paid."""
        return sum(len(self.to_launch(role, pairs)) for role in ROLES)

    def notes(self, pairs: int) -> list[str]:
        """What the rows of an estimate do not say."""
        counts = [len(self.slots(role, pairs)) for role in ROLES]
        if counts[0] == counts[1]:
            return []
        return [
            f"{counts[0]} relays at the source and {counts[1]} at the destination: like ones carry what {min(counts)} "
            f"pairs do, and the row of {pairs} pairs pays for {self.launched(pairs)} relays"
        ]


PAIRS = Crew()
