"""Whose an execution is, and that it keeps to its tenant's terms, before anything costs money."""

from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.errors import DestinationBusy, InvalidRequest
from lambdas.core.pool.tenant import parse_tenants
from lambdas.core.record import transfer_life
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.validate_request import ValidateInput, validate_request
from lambdas.operations.report import reporting
from lambdas.operations.spending import tenants
from tests.lambdas.builders import request
from tests.lambdas.cloud import Cloud
from tests.lambdas.memory.stores import MemoryTransferStore

MACHINE = "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer"
PLACES = iter(range(1000))


def cloud_of(*told: str) -> Cloud:
    return Cloud(tenants=parse_tenants(told or ["acme", "beta"]))


def asked(**more: Any) -> dict[str, Any]:
    """Each with a destination of its own."""
    document = request(preTest=False, **more)
    document["destination"] = {**document["destination"], "path": f"/data/{next(PLACES)}"}
    return document


def run(cloud: Cloud, tenant: str | None, name: str, document: Any = None) -> AcceptedTransfer:
    """What an execution of that name does that was started through the tenant's alias."""
    cloud.executions.start(name, document, tenant)
    told = {"executionArn": f"{MACHINE}:{name}", "executionName": name, "startedAt": "1970-01-01T00:16:40.5Z"}
    event = ValidateInput.from_document({"request": document or asked(), **told})
    return validate_request(event, cloud.world)


def ended(cloud: Cloud, transfer: AcceptedTransfer) -> None:
    """As the last states leave it."""
    cloud.transfers.change(transfer, transfer_life.note(teardown={}))
    record = cloud.transfers.get(transfer.transfer_id)
    assert record is not None
    assert reporting.write(cloud.world, record, None) is not None


def test_the_alias_says_whose_it_is_and_the_record_keeps_it() -> None:
    cloud = cloud_of()
    found = run(cloud, "acme", "acme-a")
    record = cloud.transfers.get("acme-a")
    assert record is not None
    assert (found.tenant, record.transfer.tenant) == ("acme", "acme")
    assert list(cloud.tenant_ledgers.get("acme").held) == ["acme-a"]
    plain = run(cloud, None, "a")
    assert (plain.tenant, "tenant" in plain.to_document()) == (None, False)


@pytest.mark.parametrize(
    ("tenant", "name", "document"),
    [
        ("acme", "beta-a", {}),
        ("acme", "acme-a", {"name": "beta-a"}),
        ("acme", "acme-a", {"name": "beta-a", "resume": True}),
        ("acme", "a", {}),
        (None, "acme-a", {}),
        (None, "a", {"name": "acme-a"}),
        ("gone", "gone-a", {}),
    ],
)
def test_a_name_of_somebody_else_is_refused_and_nothing_is_left_of_it(
    tenant: str | None, name: str, document: dict[str, Any]
) -> None:
    cloud = cloud_of()
    with pytest.raises(InvalidRequest):
        run(cloud, tenant, name, asked(**document))
    assert cloud.transfers.get(str(document.get("name", name))) is None
    assert all(not cloud.tenant_ledgers.get(one).held for one in ("acme", "beta", "gone"))


def test_an_alias_that_is_left_of_the_last_tenant_starts_nothing() -> None:
    with pytest.raises(InvalidRequest, match="tenant 'acme' is not configured here"):
        run(Cloud(), "acme", "acme-a")


def test_a_transfer_more_than_may_be_active_is_refused_until_one_is_reported() -> None:
    cloud = cloud_of("acme t=1")
    first = run(cloud, "acme", "acme-a")
    with pytest.raises(InvalidRequest, match=r"tenants\.acme\.activeTransfers is 1; wait until one has ended") as error:
        run(cloud, "acme", "acme-b")
    assert "another execution name, e.g. 'acme-b-2'" in str(error.value)
    assert cloud.transfers.get("acme-b") is None
    ended(cloud, first)
    assert cloud.tenant_ledgers.get("acme").held == {}
    assert run(cloud, "acme", "acme-c").tenant == "acme"


def test_what_is_left_of_the_month_is_the_budget_and_its_pairs_are_bounded() -> None:
    cloud = cloud_of("acme d=10 r=7")
    found = run(cloud, "acme", "acme-a", asked(objective={"maxCostUsd": 4}, relays={"pairs": 1}))
    assert (found.request.objective.max_cost_usd, found.most_pairs) == (4, 1)
    rest = run(cloud, "acme", "acme-b")
    assert (rest.request.objective.max_cost_usd, rest.most_pairs, cloud.world.most_pairs(rest)) == (6, 2, 2)
    record = cloud.transfers.get("acme-b")
    assert record is not None
    assert record.transfer.request.objective.max_cost_usd == 6
    tenants.settle(cloud.world, rest, 0.5)
    assert cloud.tenant_ledgers.get("acme").spent_usd == 0.5
    last = run(cloud, "acme", "acme-c")
    assert last.request.objective.max_cost_usd == 5.5


def test_what_does_not_begin_holds_nothing() -> None:
    cloud = cloud_of("acme t=2")
    document = asked()
    run(cloud, "acme", "acme-a", document)
    with pytest.raises(DestinationBusy):
        run(cloud, "acme", "acme-b", document)
    with pytest.raises(InvalidRequest, match="was used by another execution"):
        run(cloud, "acme", "acme-c", asked(name="acme-a"))
    assert list(cloud.tenant_ledgers.get("acme").held) == ["acme-a"]


def test_what_a_report_could_not_give_back_is_found_by_the_next_one() -> None:
    cloud = cloud_of("acme t=1 d=10")
    first = run(cloud, "acme", "acme-a", asked(objective={"maxCostUsd": 4}))
    cloud.transfers.change(first, transfer_life.close("FAILED"))
    assert run(cloud, "acme", "acme-b").request.objective.max_cost_usd == 10
    # The table was restored: nobody knows of acme-b, which holds what it might have cost until it cannot run any more.
    cloud.world = replace(cloud.world, transfers=MemoryTransferStore())
    with pytest.raises(InvalidRequest, match="activeTransfers"):
        run(cloud, "acme", "acme-c")
    cloud.clock.sleep(1000)
    with pytest.raises(InvalidRequest, match="usdPerMonth"):
        run(cloud, "acme", "acme-d")


def test_of_two_that_begin_at_once_the_second_sees_what_the_first_holds() -> None:
    cloud = cloud_of("acme t=1")
    plain, raced = cloud.tenant_ledgers.put, list[str]()

    def put(tenant: str, ledger: Any) -> bool:
        if not raced:
            raced.append(tenant)
            run(cloud, "acme", "acme-faster")
        return plain(tenant, ledger)

    cloud.tenant_ledgers.put = put  # type: ignore[method-assign]
    with pytest.raises(InvalidRequest, match=r"1 transfer active \(acme-faster\)"):
        run(cloud, "acme", "acme-slower")


def test_whoever_goes_on_with_a_transfer_is_whose_it_was() -> None:
    cloud = Cloud()
    before = run(cloud, None, "acme-a", document := asked())
    cloud.transfers.change(before, transfer_life.close("FAILED"))
    cloud.world = replace(cloud.world, env=replace(cloud.world.env, tenants=parse_tenants(["acme"])))
    with pytest.raises(InvalidRequest, match=r"\$: tenant: 'acme' was None"):
        run(cloud, "acme", "acme-a-attempt2", {**document, "name": "acme-a", "resume": True})
