"""Calls of people that a tenant makes: his aliases of functions are all that his policy allows, and say who he is."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel

from lambdas.adapters.world import World
from lambdas.core.errors import InvalidRequest
from lambdas.core.request.tenancy import not_his, owner_of

Input = TypeVar("Input", bound=BaseModel)
Result = TypeVar("Result")


def of_his_own(
    run: Callable[[Input, World], Result], *, of_no_transfer: bool
) -> Callable[[Input, World, str | None], Result]:
    """The call, for transfers of the tenant alone; `of_no_transfer`: also where it names none. None is the operator.

    It raises InvalidRequest where a tenant is none any more, or names what is not his own.
    """

    def judged(event: Input, world: World, tenant: str | None) -> Result:
        if tenant is not None and (problem := _problem(event, tenant, world, of_no_transfer=of_no_transfer)):
            raise InvalidRequest(problem)
        return run(event, world)

    return judged


def _problem(event: BaseModel, tenant: str, world: World, *, of_no_transfer: bool) -> str | None:
    if tenant not in world.env.tenants:
        return f"$: tenant '{tenant}' is not configured in this deployment; ask whoever runs it"
    name = getattr(event, "transfer_id", None)
    if name is None:
        said = f"$: this is not for one transfer, and tenant '{tenant}' has a say in his own alone"
        return None if of_no_transfer else said
    return None if owner_of(name, world.env.tenants) == tenant else not_his(tenant, name)
