from typing import Any

import pytest

from lambdas.adapters import clients


@pytest.mark.parametrize(
    ("home", "endpoint"),
    [
        ("us-west-2", "us-east-1"),
        ("sa-east-1", "us-east-1"),
        ("eu-west-1", "eu-central-1"),
        ("ap-southeast-2", "ap-south-1"),
    ],
)
def test_the_price_list_is_asked_at_its_nearest_endpoint(home: str, endpoint: str) -> None:
    assert clients.pricing(home).meta.region_name == endpoint


def test_what_an_estimate_can_do_without_is_tried_once_and_for_three_seconds() -> None:
    for client in (clients.pricing("us-west-2"), clients.service_quotas("us-west-2"), clients.iam("us-west-2")):
        config: Any = client.meta.config
        assert config.connect_timeout + config.read_timeout <= 3
        assert config.retries == {"total_max_attempts": 1, "mode": "legacy"}
