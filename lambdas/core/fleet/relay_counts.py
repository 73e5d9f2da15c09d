"""The number of relays at each stage for a number of pairs, and which of them must be launched and paid."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from lambdas.core.request.relays_request import RelaysRequest
from lambdas.core.transfer.accepted import AcceptedTransfer


@dataclass(frozen=True)
class RelayCounts:
    """The relays that a request asks for; `existing`: the user's machines at each stage, which take the first slots."""

    relays: RelaysRequest = field(default_factory=RelaysRequest)
    existing: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, transfer: AcceptedTransfer) -> Self:
        """That of an accepted transfer."""
        return cls(transfer.request.relays, Counter(machine.stage for machine in transfer.existing))

    def of_stages(self, pairs: int) -> tuple[int, int]:
        """Return as many relays as pairs, or as were asked for where the sides differ and none had to go."""
        sides = self.relays.sides
        return (sides.source, sides.destination) if sides and pairs == self.relays.wanted else (pairs, pairs)

    def to_launch(self, pairs: int) -> dict[int, list[int]]:
        """Slots of each stage that no existing machine fills; a stage that needs nobody is left out."""
        counts = enumerate(self.of_stages(pairs))
        slots = {stage: list(range(self.existing.get(stage, 0) + 1, count + 1)) for stage, count in counts}
        return {stage: missing for stage, missing in slots.items() if missing}

    def launched(self, pairs: int) -> int:
        """Relays of all stages that are launched, and paid."""
        return sum(map(len, self.to_launch(pairs).values()))

    def most_pairs(self, relays: int, pairs: int) -> int:
        """The most of `pairs` for which no more than `relays` are launched."""
        return next(fewer for fewer in range(pairs, -1, -1) if self.launched(fewer) <= relays)

    def notes(self, pairs: int) -> list[str]:
        """Return what the rows of an estimate do not say."""
        counts = self.of_stages(pairs)
        notes = []
        if counts[0] != counts[1]:
            notes.append(
                f"{counts[0]} relays at the source and {counts[1]} at the destination: like ones carry what "
                f"{min(counts)} pairs do, and the row of {pairs} pairs pays for all that are launched"
            )
        if lent := sum(counts) - self.launched(pairs):
            notes.append(
                f"{lent} of {sum(counts)} relays exist and cost the transfer nothing; the rows count on "
                f"{self.relays.existing_share:g} of what AWS publishes for them"
            )
        return notes


PAIRS = RelayCounts()
