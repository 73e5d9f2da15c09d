"""Powertools' idempotency around a side effect: a repeated invocation gets the first one's answer."""

from collections.abc import Callable
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyAlreadyInProgressError
from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas.core.errors import WriteConflict
from lambdas.runtime import clients
from lambdas.runtime.env import environment

# A day: longer than any retry of the state machine or of an event rule.
EXPIRES_SECONDS = 86_400


_config = IdempotencyConfig(expires_after_seconds=EXPIRES_SECONDS)


def register(context: LambdaContext) -> None:
    """Tell Powertools when this invocation ends: one that crashed blocks its key only until then."""
    _config.register_lambda_context(context)


@cache
def _persistence() -> DynamoDBPersistenceLayer:
    env = environment()
    return DynamoDBPersistenceLayer(table_name=env.idempotency_table, boto3_client=clients.dynamodb(env.home_region))


def once(step: str, key: dict[str, Any], effect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run `effect` once per `step` and `key`; raises WriteConflict while another invocation is at it."""

    @idempotent_function(  # type: ignore[untyped-decorator]
        data_keyword_argument="key",
        persistence_store=_persistence(),
        config=_config,
        key_prefix=step,
    )
    def run(*, key: dict[str, Any]) -> dict[str, Any]:
        return effect()

    try:
        result: dict[str, Any] = run(key=key)
    except IdempotencyAlreadyInProgressError as error:
        raise WriteConflict(f"{step} is being done by another invocation") from error
    return result
