"""Executions that nobody starts by hand: the request is judged first, as the execution itself would judge it."""

from collections.abc import Callable
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.errors import AskPerson, InvalidRequest
from lambdas.core.intake.starts import RequestRefused, RequestStarted
from lambdas.core.request.tenancy import problems_of_names
from lambdas.operations.intake.acceptance import accept


def start(
    world: World, origin: str, name: str, read: Callable[[], Any], tenant: str | None = None
) -> RequestStarted | RequestRefused:
    """The execution `name` runs with what `read` gives as its input, started now or before; or it is refused, by event.

    `origin` says where the request comes from; `read` may raise InvalidRequest. A `tenant`'s runs through his alias.
    """
    try:
        raw = read()
        request = accept(raw, world).request
        if wrong := problems_of_names(tenant, name, request.name or name, world.env.tenants):
            raise InvalidRequest(wrong)
    except AskPerson as error:
        problems = error.problems if isinstance(error, InvalidRequest) else [str(error)]
        refused = RequestRefused(origin=origin, error=type(error).__name__, problems=problems)
        cause = "\n".join(problems)
        world.events.put("Request Refused", {"origin": origin, "error": refused.error, "cause": cause})
        return refused
    arn = world.executions.start(name, raw, tenant)
    return RequestStarted(origin=origin, transfer_id=request.name or name, execution_arn=arn)
