"""The wait for a turn at RunInstances: within the function if it is short, outside of it if it is not."""

from lambdas.adapters.world import World
from lambdas.core.errors import NoCapacity, Throttled
from lambdas.core.fleet.launch_queue import MOST_REFUSALS, LaunchQueue, after_refusal

# What is waited for outside costs a start of the function; a reaction to an event has nobody who would wait for it.
SHORT_SECONDS = 5.0
LONG_SECONDS = 120.0


class TurnLaterError(Exception):
    """It is not this launch's turn yet: whoever launches is to come again with `queue`."""

    def __init__(self, queue: LaunchQueue) -> None:
        super().__init__(f"the turns are at {queue.due}")
        self.queue = queue


class Turns:
    """The turns of one stage of a launch; each call of RunInstances takes one. `queue`: where it can wait elsewhere."""

    def __init__(self, world: World, region: str, stage: int, queue: LaunchQueue | None) -> None:
        self._world, self._region, self._stage = world, region, str(stage)
        self._waits_elsewhere = queue is not None
        self._turn = queue.due.get(self._stage) if queue else None
        self._refusals = queue.refusals if queue else 0

    def wait(self) -> None:
        """Until the next call may be made; where that is not soon, raises TurnLaterError, or Throttled."""
        now = self._world.clock.now()
        at = self._world.turns.take(self._region, now) if self._turn is None else self._turn
        if self._waits_elsewhere and at - now > SHORT_SECONDS:
            raise TurnLaterError(LaunchQueue(due={self._stage: at}, refusals=self._refusals))
        if at - now > LONG_SECONDS:
            raise Throttled(f"so many launches wait in {self._region} that its turn comes in {at - now:.0f} s")
        self._turn = None
        self._world.clock.sleep(max(at - now, 0.0))

    def refused(self, why: str) -> None:
        """EC2 has asked to come later all the same. Once that has been often enough it is given up: raises NoCapacity,
        or Throttled where an event brings it back.
        """
        self._refusals += 1
        if self._refusals > MOST_REFUSALS:
            kind = NoCapacity if self._waits_elsewhere else Throttled
            raise kind(f"EC2 has refused to launch in {self._region} {self._refusals} times: {why}")
        now = self._world.clock.now()
        self._turn = after_refusal(self._world.turns.take(self._region, now), now, self._refusals)


def together(later: list[TurnLaterError]) -> TurnLaterError:
    """Of several stages, one wait for all."""
    turns = {stage: at for one in later for stage, at in one.queue.due.items()}
    return TurnLaterError(LaunchQueue(due=turns, refusals=max(one.queue.refusals for one in later)))
