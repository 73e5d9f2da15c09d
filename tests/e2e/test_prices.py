"""The deployed functions ask the markets with the permissions that they have, and keep what they were told."""

import json
from pathlib import Path
from typing import Any

import pytest

from lambdas.adapters.price_cache import KEY, S3PriceCache
from lambdas.core.tariff.prices import DISK_GB, HOURS_A_MONTH, needed
from tests.e2e.account import HOME, OTHER, Account


def test_prices_of_an_estimate_come_from_the_price_list_and_are_kept(account: Account, tmp_path: Path) -> None:
    bucket = f"cpt-control-{account.cloud.config.account}-{HOME}"
    s3 = account.aws.client("s3")
    s3.delete_object(Bucket=bucket, Key=KEY)
    estimate = ask(account, tmp_path)
    kept = S3PriceCache(s3, bucket).read()
    # Besides, what larger ends would cost, which a person who asks is told of.
    larger = set(kept) - set(needed(["m6in.large"], HOME, OTHER))
    assert set(needed(["m6in.large"], HOME, OTHER)) <= set(kept)
    assert {(item.what, item.detail.partition(".")[0]) for item in larger} == {("instance-hour", "t3")}
    assert estimate["figures"]["egressUsdPerGB"]["value"] == 0.02
    on_demand = [price.usd for item, price in kept.items() if item.detail == "m6in.large"]
    assert on_demand == pytest.approx([0.13923, 0.15561])
    assert 0.3 <= instance_hour(estimate) / (sum(on_demand) / 2) <= 0.5
    account.aws.client("iam").delete_service_linked_role(RoleName="AWSServiceRoleForEC2Spot")
    try:
        without = ask(account, tmp_path)
    finally:
        account.aws.client("iam").create_service_linked_role(AWSServiceName="spot.amazonaws.com")
    assert instance_hour(without) == pytest.approx(sum(on_demand) / 2, abs=1e-5)
    assert "relays are on demand: the account has no service-linked role for spot" in without["reason"]


def ask(account: Account, folder: Path) -> dict[str, Any]:
    """The estimate of a transfer with spot relays."""
    request = account.request(folder, folder / "to", relays={"instanceTypes": ["m6in.large"], "market": "spot"})
    payload = json.dumps({"request": request, "sizeBytes": 10**9})
    answer = account.aws.client("lambda").invoke(FunctionName="cpt-estimate-request", Payload=payload)
    estimate: dict[str, Any] = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, estimate
    return estimate


def instance_hour(estimate: dict[str, Any]) -> float:
    """What a relay costs an hour without its address and disk."""
    address, disk = 0.005, DISK_GB * (0.08 + 0.088) / 2 / HOURS_A_MONTH
    return float(estimate["figures"]["relayHourUsd"]["value"]) - address - disk
