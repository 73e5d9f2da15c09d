"""A request document was put under `requests/` in the control bucket: start it, and answer beside it."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core import starts
from lambdas.core.errors import AskPerson, InvalidRequest
from lambdas.core.starts import ObjectCreated, RequestRefused, RequestStarted
from lambdas.operations.starting import start
from lambdas.runtime.handler import BusEvent, event_rule


def start_from_object(event: BusEvent, world: World) -> dict[str, Any]:
    """An event that comes twice starts once, since the execution's name is made from key and version."""
    created = ObjectCreated.from_document(event.detail)
    key = created.stored.key
    if not starts.is_request(key):
        return {"ignored": key}
    try:
        answer = _start(created, world)
    except AskPerson as error:
        problems = error.problems if isinstance(error, InvalidRequest) else [str(error)]
        refused = RequestRefused(key=key, error=type(error).__name__, problems=problems)
        world.objects.put(starts.error_key(key), refused.to_json().encode())
        world.events.put("Request Refused", {"key": key, "error": refused.error, "cause": "\n".join(refused.problems)})
        return {"refused": key}
    world.objects.put(starts.started_key(key), answer.to_json().encode())
    return {"started": answer.execution_arn}


def _start(created: ObjectCreated, world: World) -> RequestStarted:
    key = created.stored.key
    starts.refuse_size(created.stored.size)
    raw = starts.read_document(b"\n".join(world.objects.lines(key)))
    return start(world, key, created.execution_name, raw)


handler = event_rule(start_from_object)
