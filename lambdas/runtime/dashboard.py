"""Calls that a widget of a CloudWatch dashboard makes: a person's click, with the forms that stand beside it.

CloudWatch calls with the keys of the click and `widgetContext` beside them, and shows HTML as it is returned. Source:
CloudWatch User Guide, custom widgets.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from lambdas.adapters.world import World
from lambdas.core.errors import CptError
from lambdas.core.request.tenancy import tenant_of_alias
from lambdas.core.watch.page import Acts, Theme, message
from lambdas.runtime.handler import Handler, user_call

CONTEXT = "widgetContext"
Input = TypeVar("Input", bound=BaseModel)
_WHOLE = re.compile(r"[0-9]{1,9}")


def theme_of(event: Mapping[str, Any]) -> Theme:
    """As the person's console is; light where it does not say."""
    context = event.get(CONTEXT)
    return "dark" if isinstance(context, Mapping) and context.get("theme") == "dark" else "light"


def acts_of(invoked: str, tenant: str | None = None) -> Acts:
    """The functions of this deployment, by the ARN of one of them; for a tenant his aliases of them."""
    *above, name = invoked.split(":")[:7]
    prefix, alias = ":".join([*above, name.removesuffix("show-transfers")]), f":{tenant}" if tenant else ""
    return Acts(
        show=f"{prefix}show-transfers{alias}",
        start=None if tenant else f"{prefix}start-from-schedule",
        decide=f"{prefix}decide-approval{alias}",
        limit=f"{prefix}limit-transfer{alias}",
        pause=f"{prefix}pause-transfer{alias}",
        unpause=f"{prefix}unpause-transfer{alias}",
        cancel=f"{prefix}cancel-transfer{alias}",
    )


def asked(event: Mapping[str, Any], fields: Iterable[str] = (), texts: Iterable[str] = ()) -> dict[str, Any]:
    """What the click asks for: its own keys, and those `fields` and `texts` of the forms beside it.

    One that is empty is null, and a field of digits is a number.
    """
    context = event.get(CONTEXT)
    forms = context.get("forms", {}).get("all", {}) if isinstance(context, Mapping) else {}
    filled = {name: _value(forms[name]) for name in fields if name in forms}
    written = {name: _text(forms[name]) for name in texts if name in forms}
    return {**filled, **written, **{key: value for key, value in event.items() if key != CONTEXT}}


def _value(written: object) -> object:
    text = _text(written)
    return int(text) if text is not None and _WHOLE.fullmatch(text) else text


def _text(written: object) -> str | None:
    return written.strip() or None if isinstance(written, str) else None


def page_call(
    model: type[Input], show: Callable[[Input, Acts, Theme, World, str | None], str | dict[str, str]]
) -> Handler:
    """The Lambda of a page. CloudWatch shows a string as HTML, and anything else as JSON or Markdown.

    Its last argument is the tenant for whom it is shown; None: the operator.
    """

    def handler(event: dict[str, Any], context: LambdaContext) -> Any:
        tenant, theme = tenant_of_alias(context.invoked_function_arn), theme_of(event)
        acts = acts_of(context.invoked_function_arn, tenant)

        def shown(parsed: Input, world: World) -> dict[str, Any]:
            return {"shown": show(parsed, acts, theme, world, tenant)}

        return user_call(model, shown, of_no_transfer=True)(asked(event), context)["shown"]

    return handler


def also_by_click(
    call: Handler,
    words: Callable[[Mapping[str, Any]], str],
    fields: Iterable[str] = (),
    *,
    texts: Iterable[str] = (),
    clicks: Handler | None = None,
) -> Handler:
    """The same call, which answers a click with what it has done in words, or with why it has not.

    `fields` and `texts`: those of its input that a form has. `clicks`: the call of a click, where it has another input.
    """
    by_click = clicks or call

    def clicked(event: dict[str, Any], context: LambdaContext) -> Any:
        if CONTEXT not in event:
            return call(event, context)
        theme = theme_of(event)
        try:
            done = by_click(asked(event, fields, texts), context)
        except CptError as error:
            return message(f"{type(error).__name__}: {error}", theme, error=True)
        return message(words(done), theme)

    return clicked
