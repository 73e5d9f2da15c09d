"""A request gets the deployment's defaults."""

import pytest

from lambdas.operations.intake.acceptance import accept
from tests.lambdas.builders import request
from tests.lambdas.cloud import Cloud


@pytest.mark.parametrize(
    ("deployment", "asked", "budget"), [(None, {}, None), (20.0, {}, 20.0), (20.0, {"maxCostUsd": 3}, 3)]
)
def test_budget_is_the_requests_own_or_the_deployments(
    deployment: float | None, asked: dict[str, float], budget: float | None
) -> None:
    cloud = Cloud(max_cost_usd=deployment)
    assert accept(request(objective=asked), cloud.world).request.objective.max_cost_usd == budget
