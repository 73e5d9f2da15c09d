"""What tenants' transfers hold and have spent: one item of the transfers table for each, in versions."""

from lambdas.adapters.dynamodb import Table
from lambdas.core.spending.tenant_ledger import TenantLedger

_RECORD, _DOCUMENT = "ledger", "document"


class DynamoTenantLedgers:
    """TenantLedgers over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, tenant: str) -> TenantLedger:
        """See TenantLedgers."""
        item = self._table.get(**_key(tenant))
        return (
            TenantLedger.model_validate_json(str(item[_DOCUMENT]), by_alias=True, by_name=False)
            if item
            else TenantLedger()
        )

    def put(self, tenant: str, ledger: TenantLedger) -> bool:
        """See TenantLedgers."""
        item = {**_key(tenant), "version": ledger.version, _DOCUMENT: ledger.to_json()}
        if ledger.version == 1:
            return self._table.put(item, "attribute_not_exists(version)")
        return self._table.put(item, "version = :before", before=ledger.version - 1)


def _key(tenant: str) -> dict[str, str]:
    # No transfer has such a name.
    return {"transferId": f"tenant#{tenant}", "record": _RECORD}
