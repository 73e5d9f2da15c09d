"""The decision whether a relay that is lost or slow is worth replacing."""

from dataclasses import dataclass

from lambdas.core.models.models import LEAST_GAIN
from lambdas.core.models.zero_wait import Serving, zero_wait

# A slot that has lost three relays would lose a fourth.
MAX_GENERATION = 3
LEAST_BILLED_SECONDS = 60.0


@dataclass(frozen=True)
class Remaining:
    """Data left when a relay fails, MB, and the rates of the others together, of the relay, of its successor, MB/s.

    `successor` serves after `spawn_seconds`; until then the relay carries `own` (0 where it is lost). `source` and
    `destination`: what the ends can move in all. `relays`: how many are up beside the one in question.
    """

    size: float
    others: float
    own: float
    successor: float
    spawn_seconds: float
    source: float
    destination: float
    relays: int

    def without(self) -> float:
        """Seconds that the rest takes with what is left; infinite where nothing carries."""
        return zero_wait(self.size, [Serving(self.others + self.own)], self.source, self.destination)

    def replaced(self) -> float:
        """Seconds that it takes with a successor."""
        paths = [
            Serving(self.others),
            Serving(self.own, leaves=self.spawn_seconds),
            Serving(self.successor, joins=self.spawn_seconds),
        ]
        return zero_wait(self.size, paths, self.source, self.destination)

    def more_relay_seconds(self) -> float:
        """Return what the successor costs in relay seconds, less what the whole fleet is up for a shorter time."""
        kept = self.relays + (self.own > 0)
        after = self.relays * self.replaced() + max(self.replaced(), LEAST_BILLED_SECONDS)
        return after + min(self.spawn_seconds, self.replaced()) * (self.own > 0) - kept * self.without()


def why_not_replaced(rest: Remaining, generation: int, made: int, relays: int, *, cheapest: bool) -> str | None:
    """Return why a relay of `generation` gets no successor after `made` replacements; None where it pays.

    One transfer makes as many as it has `relays`: each is replaced once on average. It pays where the rest gets shorter
    by `LEAST_GAIN`; where the request wants the least cost, only if it also costs no more relay time.
    """
    if generation + 1 >= MAX_GENERATION:
        return f"{MAX_GENERATION - 1} successors in one place are the most"
    if made >= relays:
        return f"{made} replacements are the most for {relays} relays"
    if rest.size <= 0:
        return "nothing is left to move"
    without, replaced = rest.without(), rest.replaced()
    if not replaced < without * (1 - LEAST_GAIN):
        return f"the rest takes {without:.0f} s, with a successor {replaced:.0f} s"
    if cheapest and rest.more_relay_seconds() > 0:
        return f"a successor would cost more than the {without - replaced:.0f} s that it saves"
    return None
