"""What a request may say of the pool's price and of its own weight."""

from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.pool_rules import latest_start
from lambdas.core.request.request import Limits, parse_request
from tests.lambdas.builders import IRELAND, WEST, request

LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=8, instance_types=())


def refused(**relays: Any) -> str:
    with pytest.raises(InvalidRequest) as caught:
        parse_request(request(relays=relays), LIMITS)
    return str(caught.value)


def test_a_price_a_latest_start_and_a_weight_are_accepted() -> None:
    found = parse_request(request(relays={"maxUsdPerGB": 0.002, "startBy": "6h", "weight": 10}), LIMITS)
    assert (found.relays.most_usd_per_gb, found.relays.start_by, found.relays.weight) == (0.002, "6h", 10)
    assert found.to_document()["relays"]["maxUsdPerGB"] == 0.002


@pytest.mark.parametrize(
    ("relays", "words"),
    [
        ({"maxUsdPerGB": 0.002}, "$.relays.startBy: is missing"),
        ({"startBy": "6h"}, "$.relays.startBy: '6h', and there is no price to wait for; give $.relays.maxUsdPerGB"),
        ({"maxUsdPerGB": 1, "startBy": "8d"}, "$.relays.startBy: '8d' is longer than a transfer may wait; write 7d"),
        ({"maxUsdPerGB": 1, "startBy": "tomorrow"}, 'tomorrow" is not valid; write a time with its zone'),
        ({"maxUsdPerGB": 1, "startBy": "2026-12-24T06:00:00"}, '00" is not valid; write a time with its zone'),
        ({"maxUsdPerGB": -1, "startBy": "6h"}, "$.relays.maxUsdPerGB: -1 is not valid; write 0.0 or more"),
        ({"pool": "none", "weight": 2}, "$.relays.weight: 2, and $.relays.pool is 'none'"),
        ({"pairs": 0, "weight": 2}, "$.relays.weight: 2, and $.relays.pairs is 0"),
        ({"weight": 11}, "$.relays.weight: 11 is not valid; write 10 or less"),
        ({"weight": 1.5}, "$.relays.weight"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(relays: dict[str, Any], words: str) -> None:
    assert words in refused(**relays)


def test_the_latest_start_is_a_moment_or_counted_from_the_start_and_a_week_away_at_most() -> None:
    assert latest_start("6h", 1000.0) == 1000.0 + 6 * 3600
    assert latest_start("1970-01-01T01:00:00+00:00", 1000.0) == 3600.0
    assert latest_start("2999-01-01T00:00:00Z", 1000.0) == 1000.0 + 7 * 86_400
