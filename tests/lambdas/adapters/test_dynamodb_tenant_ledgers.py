import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_tenant_ledgers import DynamoTenantLedgers
from lambdas.adapters.stores import TenantLedgers
from lambdas.core.spending.tenant_ledger import Held, TenantLedger
from tests.lambdas.memory.stores import MemoryTenantLedgers


@pytest.fixture
def tenant_ledgers(tables: dict[str, Table]) -> TenantLedgers:
    return DynamoTenantLedgers(tables["transfers"]) if tables else MemoryTenantLedgers()


def test_of_two_versions_of_a_tenants_ledger_the_first_one_holds(tenant_ledgers: TenantLedgers) -> None:
    assert tenant_ledgers.get("acme") == TenantLedger()
    held = Held(transfer_id="acme-a", at=1.5, month="2026-12", usd=0.25, relays=4)
    first = TenantLedger(version=1, month="2026-12", spent_usd=0.1, held={"acme-a": held})
    assert tenant_ledgers.put("acme", first)
    assert not tenant_ledgers.put("acme", first)
    assert tenant_ledgers.put("acme", first.settled("acme-a", 0.2).next)
    assert tenant_ledgers.get("acme") == TenantLedger(version=2, month="2026-12", spent_usd=0.1 + 0.2)
    assert tenant_ledgers.get("beta") == TenantLedger()
