"""Executions that nobody starts by hand: the request is judged first, as the execution itself would judge it."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.starts import RequestStarted
from lambdas.operations.acceptance import accept


def start(world: World, key: str, name: str, raw: Any) -> RequestStarted:
    """The execution `name` runs with `raw` as its input, started now or before; raises InvalidRequest.

    `key` says where the request comes from.
    """
    request = accept(raw, world).request
    arn = world.executions.start(name, raw)
    return RequestStarted(key=key, transfer_id=request.name or name, execution_arn=arn)
