"""`cpt pool --month`, of items as the table has them."""

from rich.console import Console
from typer.testing import CliRunner

from cli.main import app
from cli.pool_month import month_of_items, month_table
from lambdas.core.pool.month_account import MonthAccount, PoolCharge
from tests.lambdas.builders import WEST

ACCOUNT = MonthAccount(
    region=WEST, month="2026-12", until=1000.0, cost_usd=2.0, node_seconds=7200.0, shares={"acme": 0.5}
)
PAID = PoolCharge(transfer_id="acme-x", execution="one", tenant="acme", at=1000.0, usd=0.75, sent_bytes=10**9)
BEFORE = ACCOUNT.model_copy(update={"cost_usd": 9.0})
ITEMS = [
    {"machine": f"pool#{WEST}", "record": "month#2026-12", **ACCOUNT.to_document()},
    {
        "machine": f"pool#{WEST}",
        "record": "month#2026-11",
        **BEFORE.to_document(),
    },
    {"machine": "charges#2026-12", "record": "one", **PAID.to_document()},
    {"machine": "charges#2026-11", "record": "old", **PAID.to_document()},
    {"machine": f"pool#{WEST}", "record": "needs", "needs": []},
]


def test_a_month_has_its_own_items_alone() -> None:
    found = month_of_items(ITEMS, "2026-12")
    assert (found.machines_usd, found.charged_usd, found.idle_usd, found.margin_usd) == (2.0, 0.75, 1.5, -1.25)


def test_people_see_who_paid_what_and_what_was_idle() -> None:
    console = Console(width=120, record=True, file=None)
    with console.capture() as shown:
        console.print(month_table(month_of_items(ITEMS, "2026-12")))
    text = shown.get()
    assert "The pool in 2026-12 (us-west-2)" in text
    assert "acme" in text
    assert "Charged $1.25 less than the machines cost." in text


def test_what_is_no_month_is_refused_before_anything_is_asked() -> None:
    found = CliRunner().invoke(app, ["pool", "--month", "2026-13"])
    assert found.exit_code == 2
    assert "'2026-13' is no month; write a year and a month, e.g. 2026-12, or now" in found.output
