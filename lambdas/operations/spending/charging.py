"""What a transfer pays for the pool, for the month's account."""

from lambdas.adapters.world import World
from lambdas.core.pool.month_account import PoolCharge
from lambdas.core.pool.tenant import OPERATOR
from lambdas.core.report.report import Report
from lambdas.core.transfer.accepted import AcceptedTransfer


def charge(world: World, transfer: AcceptedTransfer, report: Report) -> None:
    """Keep what the report says of the pool; of a transfer that had no lease nothing."""
    used = report.pool
    if used is None:
        return
    world.pool_accounts.charge(
        PoolCharge(
            transfer_id=transfer.transfer_id,
            execution=transfer.execution_arn.rpartition(":")[2],
            tenant=transfer.tenant or OPERATOR,
            at=world.clock.now(),
            usd=used.usd,
            sent_bytes=used.sent_bytes,
            energy_wh=report.energy.watt_hours if report.energy else 0.0,
        )
    )
