"""What a tenant's transfers hold of his terms at once, and have spent this month.

Each transfer that begins holds a place, its relays and its budget; its report gives these back, and counts what it has
really cost. All that is held stands in one item, so of two that begin at once the second sees what the first holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document, TenantName, TransferId
from lambdas.core.pool.month_account import month_of
from lambdas.core.pool.tenant import TenantTerms
from lambdas.core.request.request import TransferRequest
from lambdas.core.words import dollars, many

Usd = Annotated[float, Field(ge=0)]
# A pre-test launches twice as many and keeps the better half.
_TESTED = 2
# Of a path through third regions: one beside each end, and one in each of two regions.
_MOST_ON_A_PATH = 4
_NAMED = 5


class Held(Document):
    """What one execution holds; `at`: since when, Unix seconds. `month`: in which it began, and to which it counts."""

    transfer_id: TransferId
    at: float
    month: str
    usd: Usd = 0.0
    relays: Count = 0


class TenantLedger(Document):
    """Version n replaces n-1. `month`: that of `spent_usd`, `2026-12` (UTC). `held`: by the name of the execution."""

    version: Count = 0
    month: str = ""
    spent_usd: Usd = 0.0
    held: dict[str, Held] = Field(default_factory=dict)

    def settled(self, execution: str, usd: float) -> "TenantLedger":
        """Without what an execution holds, and with what it has cost, if it began in this month."""
        held = self.held.get(execution)
        if held is None:
            return self
        others = {name: one for name, one in self.held.items() if name != execution}
        spent = self.spent_usd + (usd if held.month == self.month else 0.0)
        return self.model_copy(update={"held": others, "spent_usd": spent})

    def released(self, execution: str) -> "TenantLedger":
        """The same where nothing was done for it."""
        return self.settled(execution, 0.0)

    @property
    def next(self) -> "TenantLedger":
        """The version that is written over this one."""
        return self.model_copy(update={"version": self.version + 1})


@dataclass(frozen=True)
class Asked:
    """A transfer that is to begin; `deployment_usd`: the most that any transfer may cost here."""

    tenant: TenantName
    terms: TenantTerms
    execution: str
    transfer_id: str
    request: TransferRequest
    at: float
    deployment_usd: float | None = None


@dataclass(frozen=True)
class Admission:
    """What an execution may have, and the ledger in which it holds that; or why it may not begin.

    `max_cost_usd`: None is no budget. `most_pairs`: None is what the deployment allows.
    """

    ledger: TenantLedger
    max_cost_usd: float | None = None
    most_pairs: int | None = None
    problems: list[str] = field(default_factory=list)


def admit(ledger: TenantLedger, asked: Asked) -> Admission:
    """Hold what the transfer may need at most. One that holds already is asked anew: a function may run twice."""
    month = month_of(asked.at)
    if ledger.month != month:
        ledger = ledger.model_copy(update={"month": month, "spent_usd": 0.0})
    others = {name: one for name, one in ledger.held.items() if name != asked.execution}
    budget, too_dear = _budget(asked, ledger.spent_usd, others, month)
    relays, most_pairs, too_many = _relays(asked, others)
    problems = [problem for problem in (_too_many_at_once(asked, others), too_many, too_dear) if problem]
    if problems:
        return Admission(ledger, problems=problems)
    held = Held(
        transfer_id=asked.transfer_id,
        at=asked.at,
        month=month,
        usd=budget or 0.0 if asked.terms.usd_per_month is not None else 0.0,
        relays=relays,
    )
    now = ledger.model_copy(update={"held": {**others, asked.execution: held}})
    return Admission(now, budget, most_pairs)


def _too_many_at_once(asked: Asked, others: Mapping[str, Held]) -> str | None:
    most = asked.terms.active
    if most is None or len(others) < most:
        return None
    names = [one.transfer_id for one in others.values()]
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return (
        f"$: tenant '{asked.tenant}' has {many(len(others), 'transfer')} active ({shown}), and "
        f"tenants.{asked.tenant}.activeTransfers is {most}; wait until one has ended, or cancel one"
    )


def _relays(asked: Asked, others: Mapping[str, Held]) -> tuple[int, int | None, str | None]:
    """Relays that it holds, the most pairs that it may have, and what is wrong."""
    most, relays = asked.terms.relays, asked.request.relays
    sides, wanted = relays.sides, relays.wanted
    times = _TESTED if asked.request.testing else 1
    # One that stands on a path through regions has up to four relays; of a bucket's end there are none.
    each = times * (len(asked.request.machine_sides) if relays.through == "none" else _MOST_ON_A_PATH)
    counted = None if wanted == "auto" else times * (sides.source + sides.destination) if sides else each * wanted
    if most is None:
        return counted or 0, None, None
    left = max(most - sum(one.relays for one in others.values()), 0)
    if counted is None:
        pairs = left // each if each else 0
        return pairs * each, pairs, None
    if counted > left:
        tested = ", those of a pre-test with them" if times == _TESTED else ""
        return (
            0,
            None,
            (
                f"$.relays.pairs: {_as_written(asked.request)} takes {counted} relays at most{tested}, and of "
                f"tenants.{asked.tenant}.relays, {most}, {left} are left; give {left // each if each else 0} at most, "
                "or wait until another transfer has ended"
            ),
        )
    return counted, max(sides.source, sides.destination) if sides else int(counted // each if each else 0), None


def _as_written(request: TransferRequest) -> object:
    sides = request.relays.sides
    return sides.to_document() if sides else request.relays.wanted


def _budget(asked: Asked, spent: float, others: Mapping[str, Held], month: str) -> tuple[float | None, str | None]:
    """The most that it may cost, and what is wrong with what it asks for."""
    most, wanted = asked.terms.usd_per_month, asked.request.objective.max_cost_usd
    if most is None:
        return wanted, None
    held = fsum(one.usd for one in others.values() if one.month == month)
    left = most - spent - held
    where = f"tenants.{asked.tenant}.usdPerMonth is {dollars(most)}, of which {dollars(spent)} are spent in {month}"
    if left <= 0:
        return None, (
            f"$: {where} and {dollars(held)} held for transfers that run; wait for the next month or for their end, "
            "or give each request less as $.objective.maxCostUsd"
        )
    if wanted is None or (wanted > left and wanted == asked.deployment_usd):
        return left, None
    if wanted > left:
        return None, (
            f"$.objective.maxCostUsd: {wanted} is more than is left: {where} and {dollars(held)} held for transfers "
            f"that run; give {left:.2f} at most"
        )
    return wanted, None
