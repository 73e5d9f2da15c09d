from typing import Any

import pytest

from lambdas.core.errors import WriteConflict
from lambdas.core.pool.tenant import parse_tenants
from lambdas.core.spending.tenant_ledger import TenantLedger
from lambdas.operations.spending import tenants
from tests.lambdas.builders import transfer
from tests.lambdas.cloud import Cloud

NAME = "acme-a"
ARN = f"arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:{NAME}"


@pytest.fixture
def cloud() -> Cloud:
    return Cloud(tenants=parse_tenants(["acme d=10"]))


def of_acme() -> Any:
    return transfer(NAME).model_copy(update={"tenant": "acme", "execution_arn": ARN})


def test_the_operators_transfers_hold_nothing(cloud: Cloud) -> None:
    own = transfer(NAME)
    assert tenants.hold(cloud.world, own) == own
    tenants.settle(cloud.world, own, 3.0)
    tenants.release(cloud.world, own)
    assert cloud.tenant_ledgers.get("acme") == TenantLedger()


def test_what_is_held_is_settled_once(cloud: Cloud) -> None:
    held = tenants.hold(cloud.world, of_acme())
    assert cloud.tenant_ledgers.get("acme").held[NAME].usd == held.request.objective.max_cost_usd == 10
    for _ in range(2):
        tenants.settle(cloud.world, held, 3.0)
    found = cloud.tenant_ledgers.get("acme")
    assert (found.spent_usd, found.held, found.version) == (3.0, {}, 2)


def test_what_does_not_begin_costs_nothing(cloud: Cloud) -> None:
    tenants.release(cloud.world, tenants.hold(cloud.world, of_acme()))
    assert cloud.tenant_ledgers.get("acme").spent_usd == 0.0


def test_a_ledger_that_others_keep_changing_is_tried_again_by_the_state_machine(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud.tenant_ledgers, "put", lambda *_: False)
    with pytest.raises(WriteConflict, match="ledger of tenant 'acme' changed 8 times"):
        tenants.hold(cloud.world, of_acme())
