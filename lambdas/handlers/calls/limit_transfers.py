"""Limit Transfers: invoked by people; one limit over all transfers, or over those of a label, shared by need."""

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from lambdas.adapters.world import World
from lambdas.core.documents import Document
from lambdas.core.fleet.common_limit import CommonLimits, scope_of
from lambdas.core.request.bandwidth import Mbps, rate_or_none
from lambdas.core.request.labels import Label
from lambdas.operations.fleet import sharing
from lambdas.runtime.dashboard import also_by_click
from lambdas.runtime.handler import user_call


class CommonLimitRequest(Document):
    """Contract `common-limit-request`: over the transfers of a label, or over all; Mbit/s, None removes the limit."""

    label: Label | None = None
    bandwidth_limit_mbps: Mbps | None

    @model_validator(mode="after")
    def _is_said(self) -> "CommonLimitRequest":
        if "label" in self.model_fields_set and self.label is None:
            raise ValueError("label: is null; leave it out for a limit over all transfers")
        return self


def limit_transfers(event: CommonLimitRequest, world: World) -> dict[str, Any]:
    """The limit that holds now, and the shares of those that run, Mbit/s by transfer."""

    def limited(known: CommonLimits) -> CommonLimits:
        return known.limited(scope_of(event.label), event.bandwidth_limit_mbps)

    found = sharing.look(world, world.transfers.active_ids(), limited)
    over = {} if event.label is None else {"label": event.label}
    shares = {transfer_id: grant.mbps for transfer_id, grant in sorted(found.grants.items())}
    return {**over, "bandwidthLimitMbps": event.bandwidth_limit_mbps, "shares": shares}


def _words(done: Mapping[str, Any]) -> str:
    over = f"The transfers of '{done['label']}'" if "label" in done else "All transfers"
    return f"{over} go on with {rate_or_none(done['bandwidthLimitMbps'])} together."


handler = also_by_click(user_call(CommonLimitRequest, limit_transfers), _words, fields=["bandwidthLimitMbps"])
