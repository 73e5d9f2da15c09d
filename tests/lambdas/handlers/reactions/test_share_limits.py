from lambdas.handlers.reactions.share_limits import LOOKS, PAUSE_SECONDS, share_limits
from lambdas.runtime.handler import BusEvent
from tests.lambdas.cloud import Cloud
from tests.lambdas.operations.fleet.test_sharing import limits, mbps, says, starts


def test_where_nobody_has_set_a_limit_it_returns_at_once() -> None:
    cloud = Cloud()
    starts(cloud, "first")
    before = cloud.clock.now()
    assert share_limits(BusEvent(), cloud.world) == {}
    assert cloud.clock.now() == before


def test_it_looks_until_the_next_minute_and_finds_who_needs_more() -> None:
    cloud = Cloud()
    limits(cloud, 240)
    busy, idle = starts(cloud, "busy"), starts(cloud, "idle")
    before = cloud.clock.now()
    plain = cloud.clock.sleep

    def sleep(seconds: float) -> None:
        plain(seconds)
        says(cloud, busy, (mbps(cloud, busy) or 0.0) / 8)
        says(cloud, idle, 0.1)

    cloud.clock.sleep = sleep  # type: ignore[method-assign]
    shares = share_limits(BusEvent(), cloud.world)
    assert cloud.clock.now() - before == (LOOKS - 1) * PAUSE_SECONDS < 60
    assert shares["busy"] > 0.95 * 240
    assert sum(shares.values()) <= 240
