"""What a tenant's transfer holds of his terms, from its beginning until its report."""

from collections.abc import Callable

from lambdas.adapters.world import World
from lambdas.core.errors import InvalidRequest, WriteConflict
from lambdas.core.spending import tenant_ledger
from lambdas.core.spending.tenant_ledger import Asked, Held, TenantLedger
from lambdas.core.transfer.accepted import AcceptedTransfer

_ATTEMPTS = 8
# Between what is held and the record of the transfer that holds it: the time of one function.
_BEGINNING_SECONDS = 900.0


def hold(world: World, transfer: AcceptedTransfer) -> AcceptedTransfer:
    """The transfer within its tenant's terms, which it holds from now on; raises InvalidRequest or WriteConflict.

    One of the operator's is as it was.
    """
    tenant = transfer.tenant
    if tenant is None:
        return transfer
    asked = Asked(
        tenant,
        world.env.tenants[tenant],
        _execution(transfer),
        transfer.transfer_id,
        transfer.request,
        world.clock.now(),
        world.env.max_cost_usd,
    )
    found = tenant_ledger.Admission(TenantLedger())

    def admitted(ledger: TenantLedger) -> TenantLedger:
        nonlocal found
        found = tenant_ledger.admit(_without_ended(world, ledger), asked)
        if found.problems:
            raise InvalidRequest(found.problems)
        return found.ledger

    _change(world, tenant, admitted)
    objective = transfer.request.objective.model_copy(update={"max_cost_usd": found.max_cost_usd})
    request = transfer.request.model_copy(update={"objective": objective})
    return transfer.model_copy(update={"request": request, "most_pairs": found.most_pairs})


def release(world: World, transfer: AcceptedTransfer) -> None:
    """It did not begin: it holds nothing, and has cost nothing."""
    if transfer.tenant is not None:
        _change(world, transfer.tenant, lambda ledger: ledger.released(_execution(transfer)))


def settle(world: World, transfer: AcceptedTransfer, usd: float) -> None:
    """It is over, and has cost so much; a second time changes nothing."""
    if transfer.tenant is not None:
        _change(world, transfer.tenant, lambda ledger: ledger.settled(_execution(transfer), usd))


def _change(world: World, tenant: str, edit: Callable[[TenantLedger], TenantLedger]) -> None:
    for _ in range(_ATTEMPTS):
        before = world.tenant_ledgers.get(tenant)
        now = edit(before)
        if now == before or world.tenant_ledgers.put(tenant, now.model_copy(update={"version": before.version}).next):
            return
    raise WriteConflict(f"the ledger of tenant '{tenant}' changed {_ATTEMPTS} times while it was written")


def _without_ended(world: World, ledger: TenantLedger) -> TenantLedger:
    """Without what transfers hold that are over, and whose report could not say so: the next one is not to wait."""
    for execution, held in ledger.held.items():
        if (usd := _spent_by_ended(world, execution, held)) is not None:
            ledger = ledger.settled(execution, usd)
    return ledger


def _spent_by_ended(world: World, execution: str, held: Held) -> float | None:
    """Dollars of a transfer that is over; None while it may run."""
    record = world.transfers.get(held.transfer_id)
    is_its_own = record is not None and record.transfer.execution_arn.rpartition(":")[2] == execution
    if record is None or not is_its_own:
        # Another execution has the name, or the table was restored: nobody knows what this one has cost.
        return held.usd if world.clock.now() - held.at > _BEGINNING_SECONDS else None
    if not record.closed:
        return None
    return record.spent.total if record.spent else 0.0


def _execution(transfer: AcceptedTransfer) -> str:
    return transfer.execution_arn.rpartition(":")[2]
