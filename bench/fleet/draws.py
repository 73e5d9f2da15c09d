"""What relays get of their type's caps, drawn from a seed. Whoever chooses among them never sees it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

SLOW_ONE_IN = 10
SLOW_SHARES = (0.2, 0.6)
ALIKE = 0.03

Draw = Callable[[Random], float]


@dataclass(frozen=True)
class Fleet:
    """Factors on the caps of a transfer's relays, by slot: the first pair's are the first of each side."""

    transfer: str
    sources: tuple[float, ...]
    destinations: tuple[float, ...]

    @property
    def pairs(self) -> list[float]:
        """By slot: a pair goes as fast as the slower of its two relays."""
        return [min(both) for both in zip(self.sources, self.destinations, strict=True)]


def fleet(randomness: Random, transfer: str, pairs: int, draw: Draw) -> Fleet:
    """`pairs` relays on each side."""
    sides = [tuple(round(draw(randomness), 3) for _ in range(pairs)) for _ in range(2)]
    return Fleet(transfer, *sides)


def anything(randomness: Random) -> float:
    """From two fifths of the cap to all of it, evenly: no two relays are alike."""
    return randomness.uniform(0.4, 1.0)


def neighbours(randomness: Random) -> float:
    """Relays of one type are alike (σ 3 %, never above the cap) but for one in ten, whose neighbours leave it a fifth
    to three fifths. σ of all is 20 %.
    """
    if randomness.random() < 1 / SLOW_ONE_IN:
        return randomness.uniform(*SLOW_SHARES)
    return 1 - abs(randomness.gauss(0, ALIKE))
