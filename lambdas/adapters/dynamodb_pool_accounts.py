"""What the pool costs and is paid: items of the pool's table where no node reads or writes."""

from collections.abc import Mapping
from typing import Any

from lambdas.adapters.dynamodb import Table
from lambdas.core.pool.month_account import MonthAccount, PoolCharge, month_of
from lambdas.core.pool.place_in_queue import QueuedTransfer
from lambdas.core.pool.region_price import RegionPrice

_PRICE, _MONTH, _QUEUE, _CHARGES = "price", "month#", "queue", "charges#"
_KEYS = frozenset({"machine", "record"})


class DynamoPoolAccounts:
    """PoolAccounts over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def price(self, region: str) -> RegionPrice | None:
        """See PoolAccounts."""
        # Whoever asks may query the table, and read no single item.
        condition, names = "machine = :region AND #record = :price", {"#record": "record"}
        items = self._table.query(condition, names=names, region=_pool(region), price=_PRICE)
        return next((RegionPrice.from_document(_without_keys(item)) for item in items), None)

    def put_price(self, price: RegionPrice) -> None:
        """See PoolAccounts."""
        self._table.put({"machine": _pool(price.region), "record": _PRICE, **price.to_document()})

    def month(self, region: str, month: str) -> MonthAccount | None:
        """See PoolAccounts."""
        item = self._table.get(machine=_pool(region), record=f"{_MONTH}{month}")
        return MonthAccount.from_document(_without_keys(item)) if item else None

    def put_month(self, account: MonthAccount, before: MonthAccount | None) -> bool:
        """See PoolAccounts."""
        item = {"machine": _pool(account.region), "record": f"{_MONTH}{account.month}", **account.to_document()}
        if before is None:
            return self._table.put(item, "attribute_not_exists(machine)")
        return self._table.put(item, "#until = :before", {"#until": "until"}, before=before.until)

    def queue(self) -> list[QueuedTransfer]:
        """See PoolAccounts."""
        items = self._table.query("machine = :queue", queue=_QUEUE)
        return [QueuedTransfer.from_document(_without_keys(item)) for item in items]

    def queue_up(self, place: QueuedTransfer) -> None:
        """See PoolAccounts."""
        self._table.put({"machine": _QUEUE, "record": place.transfer_id, **place.to_document()})

    def forget_place(self, place: QueuedTransfer) -> None:
        """See PoolAccounts."""
        self._table.delete(machine=_QUEUE, record=place.transfer_id)

    def charges(self, month: str) -> list[PoolCharge]:
        """See PoolAccounts."""
        items = self._table.query("machine = :month", month=f"{_CHARGES}{month}")
        return [PoolCharge.from_document(_without_keys(item)) for item in items]

    def charge(self, charge: PoolCharge) -> None:
        """See PoolAccounts."""
        key = {"machine": f"{_CHARGES}{month_of(charge.at)}", "record": charge.execution}
        self._table.put({**key, **charge.to_document()})


def _pool(region: str) -> str:
    return f"pool#{region}"


def _without_keys(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in _KEYS}
