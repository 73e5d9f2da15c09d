"""A schedule is due, or a person clicks Start on the dashboard: start the request that comes with it."""

from collections.abc import Mapping
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.starts import PageStart, ScheduledStart
from lambdas.core.request.tenancy import problems_of_names
from lambdas.operations.intake.acceptance import accept
from lambdas.operations.intake.starting import start
from lambdas.runtime.dashboard import also_by_click
from lambdas.runtime.handler import BusEvent, tenants_rule, user_call


def start_from_schedule(event: BusEvent, world: World, tenant: str | None = None) -> dict[str, Any]:
    """A run that comes twice starts once, since the execution's name is made from schedule and scheduled time.

    `tenant`: by whose alias it was invoked, which is all that the role of his schedules may do.
    """
    due = ScheduledStart.from_document(event.detail)
    return start(world, due.origin, due.execution_name(tenant), lambda: due.request, tenant).to_document()


def start_from_page(click: PageStart, world: World) -> dict[str, Any]:
    """Two clicks start once, since the execution's name is made from the page's token and the text.

    Raises InvalidRequest, which nobody but the person who clicks has to hear of.
    """
    document = click.read()
    request = accept(document, world).request
    execution = click.execution_name(request.name)
    if wrong := problems_of_names(None, execution, request.name or execution, world.env.tenants):
        raise InvalidRequest(wrong)
    arn = world.executions.start(execution, document)
    return {"transferId": request.name or execution, "executionArn": arn}


def _words(done: Mapping[str, Any]) -> str:
    name, execution = done["transferId"], done["executionArn"].rsplit(":", 1)[-1]
    called = "" if execution == name else f", as execution '{execution}'"
    return f"'{name}' is started{called}. Look again to see it."


handler = also_by_click(
    tenants_rule(start_from_schedule), _words, texts=["request"], clicks=user_call(PageStart, start_from_page)
)
