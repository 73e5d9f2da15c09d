"""The dashboard's function: what a click gets, in light and dark, and that it changes nothing."""

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest, NoSuchTransfer
from lambdas.core.pool.month_account import MonthAccount, PoolCharge, month_of
from lambdas.core.pool.tenant import parse_tenants
from lambdas.core.watch.overview import Execution
from lambdas.core.watch.transfer_state import TransferState
from lambdas.handlers.calls.show_transfers import ShowTransfers, handler, show_transfers
from lambdas.runtime.dashboard import acts_of, also_by_click, asked, theme_of
from tests.lambdas import pools
from tests.lambdas.builders import WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.watch.test_page import WAVES

ARN = "arn:aws:lambda:us-west-2:123456789012:function:cpt-show-transfers"
ACTS = acts_of(ARN)


def shown(cloud: Cloud, **keys: Any) -> str | dict[str, str]:
    return show_transfers(ShowTransfers.from_document(keys), ACTS, "dark", cloud.world)


def test_all_and_one_and_none() -> None:
    cloud = Cloud()
    cloud.watched.states.append(TransferState(transfer_id="nightly", status="ACTIVE", stage="Start Transfer"))
    cloud.executions.over_executions.append(Execution("old", "SUCCEEDED", 1.0, 2.0))
    page = str(shown(cloud))
    assert "nightly" in page
    assert "old" in page
    assert 'class="cpt dark"' in page
    assert "Start Transfer" in str(shown(cloud, transferId="nightly"))
    assert "There are no records of &#39;absent&#39;" in str(shown(cloud, transferId="absent"))


def test_each_page_has_a_token_of_its_own() -> None:
    cloud = Cloud()
    tokens = {re.findall(r"&#34;token&#34;: &#34;([0-9a-f]{16})&#34;", str(shown(cloud)))[0] for _ in range(2)}
    assert len(tokens) == 2


def test_waves_of_a_label_and_of_none() -> None:
    cloud = Cloud()
    cloud.waves.write(WAVES.model_copy(update={"version": 1}))
    assert "cut over now: 12 files" in str(shown(cloud))
    assert "archive-wave-1" in str(shown(cloud, label="archive"))
    assert "There are no waves of &#39;other&#39;" in str(shown(cloud, label="other"))
    cloud.watched.states.append(TransferState(transfer_id="archive-wave-1", status="ACTIVE", label="archive"))
    assert ">Waves</a>" in str(shown(cloud, transferId="archive-wave-1"))


def test_cloudwatch_learns_what_the_widget_is() -> None:
    assert "markdown" in shown(Cloud(), describe=True)


def test_acts_are_the_functions_of_the_same_deployment() -> None:
    assert ACTS.limit == ARN.replace("show-transfers", "limit-transfer")
    assert ACTS.start == ARN.replace("show-transfers", "start-from-schedule")
    assert acts_of(f"{ARN}:live").cancel == ARN.replace("show-transfers", "cancel-transfer")


def test_a_click_has_the_fields_of_its_own_form_and_no_others() -> None:
    forms = {"all": {"bandwidthLimitMbps": " 400 ", "pairs": "3"}}
    event = {"transferId": "nightly", "widgetContext": {"theme": "dark", "forms": forms}}
    assert asked(event, ["bandwidthLimitMbps"]) == {"transferId": "nightly", "bandwidthLimitMbps": 400}
    assert asked(event) == {"transferId": "nightly"}
    forms["all"]["request"] = " 12 "
    assert asked(event, texts=["request"])["request"] == "12", "a text stays one"
    forms["all"]["bandwidthLimitMbps"] = ""
    assert asked(event, ["bandwidthLimitMbps"])["bandwidthLimitMbps"] is None
    forms["all"]["transferId"] = "another"
    assert asked(event, ["transferId"])["transferId"] == "nightly", "a form does not change what was clicked"
    assert (theme_of(event), theme_of({}), theme_of({"widgetContext": None})) == ("dark", "light", "light")


def test_a_click_is_told_what_was_done_or_why_not() -> None:
    def limit(event: Mapping[str, Any], _: object) -> dict[str, Any]:
        if event["transferId"] == "absent":
            raise NoSuchTransfer("there is no transfer 'absent'")
        return dict(event)

    handler = also_by_click(limit, lambda done: f"limited to {done['bandwidthLimitMbps']}", ["bandwidthLimitMbps"])
    context: Any = SimpleNamespace()
    clicked = {"widgetContext": {"forms": {"all": {"bandwidthLimitMbps": "80"}}}}
    assert "limited to 80" in handler({"transferId": "nightly", **clicked}, context)
    refused = handler({"transferId": "absent", **clicked}, context)
    assert "NoSuchTransfer: there is no transfer &#39;absent&#39;" in refused
    assert handler({"transferId": "nightly", "bandwidthLimitMbps": 1}, context) == {
        "transferId": "nightly",
        "bandwidthLimitMbps": 1,
    }
    with pytest.raises(NoSuchTransfer):
        handler({"transferId": "absent"}, context)


def test_a_tenants_page_has_his_own_transfers_and_clicks_by_his_aliases() -> None:
    cloud = Cloud(tenants=parse_tenants(["acme", "beta"]))
    acts = acts_of(f"{ARN}:acme", "acme")
    assert (acts.cancel, acts.start) == (f"{ARN.replace('show-transfers', 'cancel-transfer')}:acme", None)
    for name, tenant in (("acme-old", "acme"), ("beta-old", "beta"), ("old", None)):
        cloud.executions.start(name, {}, tenant)
        cloud.executions.over_executions.append(Execution(name, "SUCCEEDED", 1.0, 2.0))
        running = name.replace("old", "runs")
        cloud.watched.states.append(TransferState(transfer_id=running, status="ACTIVE", stage="Start Transfer"))
    cloud.waves.write(WAVES.model_copy(update={"version": 1}))

    def own(**keys: Any) -> str:
        return str(show_transfers(ShowTransfers.from_document(keys), acts, "light", cloud.world, "acme"))

    page = own()
    assert all(name in page for name in ("acme-old", "acme-runs", f"{acts.show}"))
    assert not any(words in page for words in ("beta-", ">old<", ">runs<", "archive", "Start a transfer"))
    assert "Waves are shown to whoever runs the deployment" in own(label="archive")
    assert "Stop acme-runs?" in own(transferId="acme-runs")


def test_a_tenants_page_has_his_own_use_of_the_pool() -> None:
    cloud = Cloud(tenants=parse_tenants(["acme", "beta"]), pool_regions={WEST: pools.settings(WEST)})
    month = month_of(cloud.clock.now())
    account = MonthAccount(region=WEST, month=month, until=1.0, cost_usd=2.0, shares={"acme": 0.5, "beta": 0.75})
    cloud.pool_accounts.put_month(account.model_copy(update={"sent": {"acme": 1500.0, "beta": 9000.0}}), None)
    for tenant, usd in (("acme", 0.25), ("beta", 7.0)):
        charge = PoolCharge(
            transfer_id=f"{tenant}-x", execution=tenant, tenant=tenant, at=cloud.clock.now(), usd=usd, sent_bytes=1
        )
        cloud.pool_accounts.charge(charge)
    page = str(show_transfers(ShowTransfers(), acts_of(f"{ARN}:acme", "acme"), "light", cloud.world, "acme"))
    assert "1.5 GB through its nodes, $0.2500 charged for 1 transfer" in page
    assert "its machines cost $0.5000" in page
    assert "$7" not in page
    unused = str(show_transfers(ShowTransfers(), acts_of(f"{ARN}:none", "none"), "light", cloud.world, "none"))
    assert "The pool this month" not in unused


def test_the_page_of_another_tenants_transfer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Cloud(tenants=parse_tenants(["acme", "beta"])).world
    monkeypatch.setattr("lambdas.runtime.handler.world", lambda **_: world)
    context = SimpleNamespace(
        function_name="cpt-show-transfers",
        memory_limit_in_mb=128,
        invoked_function_arn=f"{ARN}:acme",
        aws_request_id="1",
        get_remaining_time_in_millis=lambda: 60_000,
    )
    with pytest.raises(InvalidRequest, match="'beta-a' is not of tenant 'acme'"):
        handler({"transferId": "beta-a"}, context)  # type: ignore[arg-type]
    assert "Transfers" in str(handler({}, context))  # type: ignore[arg-type]
