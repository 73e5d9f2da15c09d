"""Window Due: what a start has collected becomes a list of keys, and that list's execution."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import WindowDue
from lambdas.operations.intake.collecting import close
from lambdas.runtime.handler import BusEvent, event_rule


def close_window(event: BusEvent, world: World) -> dict[str, Any]:
    """What became of the window; one that comes twice, or that another closes, is closed once."""
    due = WindowDue.from_document(event.detail)
    window = close(world, due.start, due.number)
    return {} if window is None else window.model_dump(mode="json", by_alias=True, exclude={"template"})


handler = event_rule(close_window)
