"""What the pool costs and is paid, in memory."""

from lambdas.core.pool.month_account import MonthAccount, PoolCharge, month_of
from lambdas.core.pool.place_in_queue import QueuedTransfer
from lambdas.core.pool.region_price import RegionPrice


class MemoryPoolAccounts:
    """PoolAccounts; `paid`: by execution."""

    def __init__(self) -> None:
        self.prices: dict[str, RegionPrice] = {}
        self.months: dict[tuple[str, str], MonthAccount] = {}
        self.paid: dict[str, PoolCharge] = {}
        self.places: dict[str, QueuedTransfer] = {}

    def price(self, region: str) -> RegionPrice | None:
        """See PoolAccounts."""
        return self.prices.get(region)

    def put_price(self, price: RegionPrice) -> None:
        """See PoolAccounts."""
        self.prices[price.region] = price

    def month(self, region: str, month: str) -> MonthAccount | None:
        """See PoolAccounts."""
        return self.months.get((region, month))

    def put_month(self, account: MonthAccount, before: MonthAccount | None) -> bool:
        """See PoolAccounts."""
        known = self.months.get((account.region, account.month))
        if (known.until if known else None) != (before.until if before else None):
            return False
        self.months[account.region, account.month] = account
        return True

    def queue(self) -> list[QueuedTransfer]:
        """See PoolAccounts."""
        return list(self.places.values())

    def queue_up(self, place: QueuedTransfer) -> None:
        """See PoolAccounts."""
        self.places[place.transfer_id] = place

    def forget_place(self, place: QueuedTransfer) -> None:
        """See PoolAccounts."""
        self.places.pop(place.transfer_id, None)

    def charges(self, month: str) -> list[PoolCharge]:
        """See PoolAccounts."""
        return [one for one in self.paid.values() if month_of(one.at) == month]

    def charge(self, charge: PoolCharge) -> None:
        """See PoolAccounts."""
        self.paid[charge.execution] = charge
