"""The retry policy, applied to one failed attempt; called by the event and by the reconciler."""

from lambdas.adapters.world import World
from lambdas.core.chunks import chunk_life
from lambdas.core.chunks.retry_policy import GiveUp, TryAgain, after_failure
from lambdas.core.metrics import MetricName
from lambdas.core.transfer.partition import Partition


def decide(world: World, partition: Partition, chunk: int, attempt: int, reason: str) -> str:
    """Write what follows; "retried", "given up", or "known" when this attempt was decided before."""
    match after_failure(attempt, reason):
        case TryAgain(delay):
            change, answer = chunk_life.retry(attempt, world.clock.now() + delay, reason), "retried"
            metric: MetricName = "ChunksRetried"
        case GiveUp(why):
            change, answer = chunk_life.give_up(attempt, why), "given up"
            metric = "ChunksGivenUp"
    if not world.chunks.change(partition, chunk, change):
        return "known"
    world.metrics.put({metric: 1})
    return answer
