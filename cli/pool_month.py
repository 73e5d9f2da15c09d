"""What `cpt pool --month` shows: what the pool was paid, what it cost by use, and what was idle."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table

from cli.console import Text
from cli.fitting import Fitted
from lambdas.core.pool.month_account import MonthAccount, PoolCharge
from lambdas.core.pool.month_report import PoolMonth, pool_month
from lambdas.core.words import dollars, duration, many

_KEYS = ("machine", "record")


def month_of_items(items: list[dict[str, Any]], month: str) -> PoolMonth:
    """The month as the items of the pool's table have it."""
    accounts = [MonthAccount.from_document(_without(item)) for item in items if item["record"] == f"month#{month}"]
    charges = [PoolCharge.from_document(_without(item)) for item in items if item["machine"] == f"charges#{month}"]
    return pool_month(month, accounts, charges)


def _without(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in _KEYS}


def month_table(found: PoolMonth) -> RenderableType:
    """Tenants, then the sums."""
    title = f"The pool in {found.month} ({', '.join(found.regions) or 'no region was counted'})"
    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    shown.add_column("tenant", no_wrap=True)
    for heading in ("transfers", "GB through nodes", "charged", "cost by use", "Wh"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for one in found.tenants:
        sums = (dollars(one.charged_usd), dollars(one.shared_usd), f"{one.energy_wh:,.1f}")
        shown.add_row(one.tenant, str(one.transfers), f"{one.sent_gb:,.3f}", *sums)
    shown.add_row("idle", "", "", "", dollars(found.idle_usd), "")
    shown.add_row("all", "", "", dollars(found.charged_usd), dollars(found.machines_usd), "", style="bold")
    more = "more" if found.margin_usd >= 0 else "less"
    hours = duration(found.machine_hours * 3600)
    told = (
        f"Charged {dollars(abs(found.margin_usd))} {more} than the machines cost. "
        f"They ran for {hours} together and took {found.machines_wh:,.0f} Wh; {many(len(found.tenants), 'tenant')}."
    )
    return Group(Fitted(shown), Text(told, style="dim"))
