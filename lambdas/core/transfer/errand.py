"""What an execution is for, as those that see to any execution have to know it: each errand has states of its own."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Errand:
    """To move data, to measure, or to have data copied."""

    has_receivers: bool
    """Daemons at the destination take part."""
    costs_from_its_start: bool
    """The control plane's costs count from the execution's start; else from the first byte."""
    has_budget_lease: bool
    """Its senders send as much as a lease of the budget bears, and no more."""
    goes_on_without_relays: bool
    """Where the budget bears relays no more, the direct path has the rest; else all of it ends."""
    teaches_stages: bool
    """Its states say how long those of the next transfer take."""
    copies: bool
    """S3 copies between two buckets: there is no machine, seat or relay."""
    why_not_limited: str | None
    """Why nobody may change what its senders may send."""
    why_not_paused: str | None
    """Why nobody may pause it."""


MOVE = Errand(
    has_receivers=True,
    costs_from_its_start=False,
    has_budget_lease=True,
    goes_on_without_relays=True,
    teaches_stages=True,
    copies=False,
    why_not_limited=None,
    why_not_paused=None,
)
MEASURE = Errand(
    has_receivers=False,
    costs_from_its_start=True,
    has_budget_lease=False,
    goes_on_without_relays=False,
    teaches_stages=False,
    copies=False,
    why_not_limited="moves nothing: a limit would be all that is measured",
    why_not_paused="moves nothing: it is over in minutes, or cancel it",
)
COPY = Errand(
    has_receivers=False,
    costs_from_its_start=True,
    has_budget_lease=False,
    goes_on_without_relays=False,
    teaches_stages=False,
    copies=True,
    why_not_limited="is copied by S3 itself, at no rate that anybody could limit",
    why_not_paused="is copied by S3 itself, in pieces that nobody holds back: cancel it, and start it with --resume",
)
ERRANDS = {"none": MOVE, "measure": MEASURE}
"""By the request's `profile`."""
