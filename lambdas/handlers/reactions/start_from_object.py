"""An object was written: a request document under `requests/` in the control bucket, or data with a template for it."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.intake import starts
from lambdas.core.intake.starts import ObjectCreated, RequestStarted
from lambdas.operations.intake.starting import start
from lambdas.runtime.handler import BusEvent, event_rule


def start_from_object(event: BusEvent, world: World) -> dict[str, Any]:
    """An event that comes twice starts once, since the execution's name is made from key and version."""
    created = ObjectCreated.from_document(event.detail)
    key, name = created.stored.key, created.execution_name
    if created.is_folder:
        return {"ignored": key}
    if created.request is not None:  # a template of the deployment's settings, which are the operator's
        return start(world, created.origin, name, lambda: starts.filled(created.request, key)).to_document()
    if not starts.is_request(key):
        return {"ignored": key}

    def read() -> Any:
        starts.refuse_size(created.stored.size)
        return starts.read_document(b"\n".join(world.objects.lines(key)))

    answer = start(world, created.origin, name, read, created.tenant)
    beside = starts.started_key if isinstance(answer, RequestStarted) else starts.error_key
    world.objects.put(beside(key), answer.to_json().encode())
    return answer.to_document()


handler = event_rule(start_from_object)
