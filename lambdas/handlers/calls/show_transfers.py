"""Show Transfers: invoked by CloudWatch for a person who looks at the dashboard; reads, and changes nothing."""

import secrets
from typing import Literal

from lambdas.adapters.world import World
from lambdas.core.documents import Document, TransferId
from lambdas.core.request.labels import Label
from lambdas.core.request.tenancy import prefix_of
from lambdas.core.watch.page import Acts, Theme, message, overview_page, transfer_page, waves_page
from lambdas.operations.pool.month_use import of_tenant
from lambdas.runtime.dashboard import page_call

# As many as fit below 100 KB of HTML beside those that run.
MOST_ENDED = 60
MOST_LABELS = 10
DESCRIPTION = """## Transfers

Shows the transfers of this deployment; `{"transferId": "NAME"}` shows one of them, and
`{"label": "LABEL"}` the waves of a label."""


class ShowTransfers(Document):
    """Contract `show-transfers`; `describe`: CloudWatch asks what the widget is. Of neither transfer nor label: all."""

    describe: Literal[True] | None = None
    transfer_id: TransferId | None = None
    label: Label | None = None


def show_transfers(
    event: ShowTransfers, acts: Acts, theme: Theme, world: World, tenant: str | None = None
) -> str | dict[str, str]:
    """HTML, or words about the widget; of a tenant's transfers alone, where it is shown for one."""
    if event.describe:
        return {"markdown": DESCRIPTION}
    if event.transfer_id is None:
        if tenant is not None:
            return _of_tenant(tenant, event.label, acts, theme, world)
        return _of_many(event.label, acts, theme, world)
    state = world.watched.transfer(event.transfer_id)
    if state is None:
        return message(f"There are no records of '{event.transfer_id}'.", theme, error=True)
    # Waves are the operator's.
    return transfer_page(state, acts, theme, world.waves.of(state.label) if state.label and not tenant else None)


def _of_tenant(tenant: str, label: str | None, acts: Acts, theme: Theme, world: World) -> str:
    if label is not None:
        return message("Waves are shown to whoever runs the deployment.", theme, error=True)
    running, ended = world.watched.running(prefix_of(tenant)), world.executions.ended(MOST_ENDED, tenant)
    return overview_page(running, ended, world.clock.now(), acts, theme, use=of_tenant(world, tenant))


def _of_many(label: str | None, acts: Acts, theme: Theme, world: World) -> str:
    if label is None:
        running, ended = world.watched.running(), world.executions.ended(MOST_ENDED)
        waves, token = world.waves.latest(MOST_LABELS), secrets.token_hex(8)
        return overview_page(running, ended, world.clock.now(), acts, theme, waves, token=token)
    found = world.waves.of(label)
    if found is None:
        return message(f"There are no waves of '{label}'.", theme, error=True)
    return waves_page(found, acts, theme)


handler = page_call(ShowTransfers, show_transfers)
