"""Powertools' idempotency around a side effect: a repeated invocation gets the first one's answer."""

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, TypeVar

from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyAlreadyInProgressError
from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas.adapters import clients
from lambdas.adapters.environment import environment
from lambdas.adapters.world import World
from lambdas.core.documents import Document
from lambdas.core.errors import WriteConflict
from lambdas.core.transfer.accepted import AcceptedTransfer

# A day: longer than any retry of the state machine or of an event rule.
EXPIRES_SECONDS = 86_400

_config = IdempotencyConfig(expires_after_seconds=EXPIRES_SECONDS)


class _OfTransfer(Protocol):
    @property
    def transfer(self) -> AcceptedTransfer: ...


Event = TypeVar("Event", bound=_OfTransfer)


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


def once_in_execution(
    step: str,
    run: Callable[[Event, World], Document | dict[str, Any]],
    round_of: Callable[[Event, World], int] = lambda event, world: 0,
) -> Callable[[Event, World], dict[str, Any]]:
    """Return `run` so that it is done once in an execution, however often the state's function is invoked.

    `round_of`: which time the execution is in the state, from 0, where it enters it more than once.
    """

    def done(event: Event, world: World) -> dict[str, Any]:
        result = run(event, world)
        return result.to_document() if isinstance(result, Document) else result

    def run_once(event: Event, world: World) -> dict[str, Any]:
        key = {"transferId": event.transfer.transfer_id, "executionArn": event.transfer.execution_arn}
        if again := round_of(event, world):
            key["round"] = str(again)
        return once(step, key, lambda: done(event, world))

    return run_once
