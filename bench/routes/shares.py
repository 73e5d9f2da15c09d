"""What part of the optimum was reached."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Shares:
    """Rates over those of the optimum; 1 is all of it."""

    found: Sequence[float]

    @property
    def mean(self) -> float:
        """Their mean."""
        return sum(self.found) / len(self.found)

    @property
    def low(self) -> float:
        """The share that 95 % of the cases reach."""
        return sorted(self.found)[len(self.found) // 20]

    @property
    def worst(self) -> float:
        """The lowest."""
        return min(self.found)

    def __str__(self) -> str:
        return (
            f"mean {self.mean:.5f} of the optimum, 95 % reach {self.low:.5f}, worst {self.worst:.5f}, "
            f"{len(self.found)} cases"
        )
