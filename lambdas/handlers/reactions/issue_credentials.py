"""Credentials Wanted: a bucket's seat gets keys for its bucket and prefix, sealed to its process."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import CredentialsWanted
from lambdas.operations.seats import credentials
from lambdas.runtime.handler import BusEvent, event_rule


def issue_credentials(event: BusEvent, world: World) -> dict[str, Any]:
    """Answer by the records alone: any end may put the event, which only says where to look."""
    return credentials.answer(world, CredentialsWanted.from_document(event.detail))


handler = event_rule(issue_credentials, hurried=True)
