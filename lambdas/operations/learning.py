"""Profiles learn from a finished transfer."""

from collections.abc import Iterable

from aws_lambda_powertools import Logger
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError

from lambdas.adapters.world import World
from lambdas.core.errors import CptError
from lambdas.core.samples import Sample

logger = Logger()


def learn(world: World, region_pair: str, samples: Iterable[Sample]) -> None:
    """Integrate all samples; where the store fails it is logged, and what is left is not learnt."""
    now = world.clock.now()
    for sample in samples:
        try:
            world.profiles.integrate(sample.subject, region_pair, sample.metric, sample.value, now)
        except (CptError, ClientError, BotoCoreError, ValidationError):
            # A finished transfer is not to fail for it, and trying on would keep its execution waiting.
            logger.warning("what the transfer measured was not learnt", extra={"sample": str(sample)}, exc_info=True)
            return
