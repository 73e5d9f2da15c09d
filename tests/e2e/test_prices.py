"""The deployed functions ask the markets with the permissions that they have, and keep what they were told."""

import json
from pathlib import Path

import pytest

from lambdas.adapters.price_cache import KEY, S3PriceCache
from lambdas.core.tariff.prices import DISK_GB, HOURS_A_MONTH, needed
from tests.e2e.account import HOME, OTHER, Account


def test_prices_of_an_estimate_come_from_the_price_list_and_are_kept(account: Account, tmp_path: Path) -> None:
    bucket = f"cpt-control-{account.cloud.config.account}-{HOME}"
    s3 = account.aws.client("s3")
    s3.delete_object(Bucket=bucket, Key=KEY)
    request = account.request(tmp_path, tmp_path / "to", relays={"instanceTypes": ["m6in.large"], "market": "spot"})
    payload = json.dumps({"request": request, "sizeBytes": 10**9})
    answer = account.aws.client("lambda").invoke(FunctionName="cpt-estimate-request", Payload=payload)
    estimate = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, estimate
    kept = S3PriceCache(s3, bucket).read()
    assert set(kept) == set(needed(["m6in.large"], HOME, OTHER))
    assert estimate["figures"]["egressUsdPerGB"]["value"] == 0.02
    on_demand = [price.usd for item, price in kept.items() if item.what == "instance-hour"]
    assert on_demand == pytest.approx([0.13923, 0.15561])
    address, disk = 0.005, DISK_GB * (0.08 + 0.088) / 2 / HOURS_A_MONTH
    spot_hour = estimate["figures"]["relayHourUsd"]["value"] - address - disk
    assert 0.3 <= spot_hour / (sum(on_demand) / 2) <= 0.5
