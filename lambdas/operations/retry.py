"""The retry policy, applied to one failed attempt; called by the event and by the reconciler."""

from lambdas.adapters.world import World
from lambdas.core.policy import GiveUp, TryAgain, after_failure


def decide(world: World, transfer_id: str, chunk: int, attempt: int, reason: str) -> str:
    """Write what follows; "retried", "given up", or "known" when this attempt was decided before."""
    match after_failure(attempt, reason):
        case TryAgain(delay):
            done = world.chunks.retry(transfer_id, chunk, attempt, world.clock.now() + delay, reason)
            return "retried" if done else "known"
        case GiveUp(why):
            return "given up" if world.chunks.fail(transfer_id, chunk, attempt, why) else "known"
