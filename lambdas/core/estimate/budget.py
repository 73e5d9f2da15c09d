"""What must stay free of a budget, so that a transfer that goes as estimated is not cut short; dollars, MB/s, s."""

from collections.abc import Iterable
from math import inf

from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.estimate.row_cost import dearest_gb_usd
from lambdas.core.estimate.rows import Row
from lambdas.core.tariff import control_plane, cost

# From one look at the meter until the next one's decision is felt: the schedule's minute, and 15 s for a look that is
# late and for the ends, which see the fence within 2 s.
LOOK_SECONDS = 75.0
# Lanes drain for 20 s at most, then logs are kept for 9 s at most, then the relays are terminated.
RELEASE_SECONDS = 30.0
# So long a relay that runs now may still run before the meter has ended it.
HELD_SECONDS = LOOK_SECONDS + RELEASE_SECONDS
# A look that is five minutes late passes no budget: the sender pauses, its relays end, and the control plane's requests
# of that time are reserved.
LATE_SECONDS = LOOK_SECONDS + 300.0
# The receiver syncs five times a second, the ends report every two: what was sent longer ago has arrived, or is lost.
FLIGHT_SECONDS = 2.0


def most_rate(relayed: float, figures: Figures, limit_mb_s: float | None = None) -> float:
    """The most that the direct path and relays carry together at any moment: a bound, whatever is expected.

    `relayed`: the most that the relays carry (`RouteUse.most_of`).

    `limit_mb_s` takes the place of the request's limit, which people and timetables change; infinite where it is
    lifted.
    """
    ends = [one.most for one in figures.of_ends.values() if limit_mb_s is None or not one.is_set_by_request]
    return min(figures.direct.most + relayed, *ends, inf if limit_mb_s is None else limit_mb_s)


def held_back(pairs: int, uses: Iterable[RouteUse], figures: Figures, *, pre_test: bool) -> float:
    """Until the meter has ended what runs now: relays, requests of the control plane, and what is sent twice.

    `pairs`: as many relays as so many have. Machines of the user cost nothing, so nothing is held back for them.
    """
    used = list(uses)
    launched = [use.tested if pre_test else use for use in used]
    each = [one for use in launched for one in zip(use.paid, use.hours_usd, strict=True)]
    relays = sum(cost.relays(count, HELD_SECONDS, hour) for count, hour in each)
    start, later = (control_plane.calls(0, pairs, seconds, 0.0) for seconds in (0.0, LATE_SECONDS))
    most = most_rate(sum(use.rate.most for use in used), figures)
    per_gb = dearest_gb_usd(used, figures) + figures.sent_share * figures.file_systems_gb_usd
    twice = cost.egress(most * FLIGHT_SECONDS * 1e6, per_gb)
    return relays + control_plane.dollars(later) - control_plane.dollars(start) + twice


def needed(row: Row, figures: Figures) -> float:
    """The smallest budget that bears the row."""
    return row.most_usd + held_back(row.pairs, row.uses(figures), figures, pre_test=row.pre_test)


def within(rows: list[Row], most_usd: float | None, figures: Figures) -> list[Row]:
    """The rows that a budget bears; all of them where there is none."""
    return [row for row in rows if most_usd is None or needed(row, figures) <= most_usd]
