"""A transfer that waits for a price of the pool: how long until somebody looks again, and what people see of it."""

from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document

# Prices change each minute. Over the week that a wait may take, 60 s for 20 minutes and then a twentieth of what has
# passed, 1 800 s at most, are about 20 + 70 + 316 looks of nine events each: more of the 25 000 of an execution, that
# may have to wait for its destination too, are not left (`bench/scale/history.py`).
_LEAST_SECONDS, _MOST_SECONDS = 60.0, 1800.0
_PART = 20.0


class PriceWait(Document):
    """Attribute `priceWait` of a transfer's record, and what the state hands to its next look.

    `since`: when it began to wait; `until`: when it starts at the latest. `usd`: dollars per GB at the last look, None
    where no pool had a price. `relays` and `rate`: what the first look counted on, by which later ones are priced.
    `wait_seconds`: until the next look; absent once it starts.
    """

    since: float
    until: float
    most_usd_per_gb: Annotated[float, Field(ge=0)] = Field(alias="maxUsdPerGB")
    usd_per_gb: Annotated[float, Field(ge=0)] | None = Field(default=None, alias="usdPerGB")
    relays: Count | None = None
    rate: Annotated[float, Field(gt=0)] | None = Field(default=None, alias="rateMBps")
    wait_seconds: Annotated[int, Field(ge=1)] | None = None

    @property
    def words(self) -> str:
        """What the transfer does, for people."""
        now = "no pool has a price yet" if self.usd_per_gb is None else f"now ${self.usd_per_gb:.3g}"
        return f"waits for ${self.most_usd_per_gb:.3g} per GB through the pool, {now}"


def seconds_until_next_look(since: float, until: float, now: float) -> int:
    """Whole seconds, as Step Functions waits; no later than `until`."""
    usual = min(max((now - since) / _PART, _LEAST_SECONDS), _MOST_SECONDS)
    return max(int(min(usual, until - now)), 1)
