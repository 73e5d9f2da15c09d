"""What a request says of the pool's price, of when to start, and of its weight beside others of its tenant."""

from collections.abc import Iterator
from datetime import datetime
from re import fullmatch
from typing import Annotated

from pydantic import AfterValidator

from lambdas.core.request.quantities import SHORT_SPAN, moment_or_span, span_seconds

MOST_WEIGHT = 10
# As long as people may take to approve.
MOST_WAIT_SECONDS = 7 * 86_400
_RIGHT = "write a time with its zone, e.g. 2026-12-24T06:00:00Z, or how long it may wait, e.g. 6h (s, m, h, d or w)"


def _moment(value: str) -> str:
    return moment_or_span(value, _RIGHT)


StartBy = Annotated[str, AfterValidator(_moment)]


def latest_start(start_by: str, started_at: float) -> float:
    """Unix seconds of the moment, or of the span after the execution's start; a week after it at most."""
    if fullmatch(SHORT_SPAN, start_by):
        wanted = started_at + span_seconds(start_by)
    else:
        wanted = datetime.fromisoformat(start_by).timestamp()
    return min(wanted, started_at + MOST_WAIT_SECONDS)


def problems(
    pool: str | None, pairs: object, most_usd_per_gb: float | None, start_by: str | None, weight: int | None
) -> Iterator[str]:
    """What does not go together, a line each; `pairs`: as the request has them."""
    said = {"maxUsdPerGB": most_usd_per_gb, "startBy": start_by, "weight": weight}
    written = {key: value for key, value in said.items() if value is not None}
    for key, value in written.items():
        if pool == "none" or pairs == 0:
            why = "$.relays.pool is 'none'" if pool == "none" else "$.relays.pairs is 0"
            yield f"$.relays.{key}: {value!r}, and {why}, so nothing goes through the pool; leave one of them out"
    if most_usd_per_gb is not None and start_by is None:
        yield (
            f"$.relays.startBy: is missing, and $.relays.maxUsdPerGB is {most_usd_per_gb}, so it might wait for ever; "
            f"{_RIGHT}"
        )
    if start_by is not None and most_usd_per_gb is None:
        yield (
            f"$.relays.startBy: '{start_by}', and there is no price to wait for; give $.relays.maxUsdPerGB, dollars "
            "per GB, or leave it out"
        )
    if start_by is not None and fullmatch(SHORT_SPAN, start_by) and span_seconds(start_by) > MOST_WAIT_SECONDS:
        yield f"$.relays.startBy: '{start_by}' is longer than a transfer may wait; write 7d at most"
