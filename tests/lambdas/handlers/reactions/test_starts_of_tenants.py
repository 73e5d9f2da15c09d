"""Starts without a person of those who share a deployment: through their alias, by their names, or not at all."""

import json
from typing import Any

import pytest

from lambdas.core.pool.tenant import parse_tenants
from lambdas.handlers.reactions.start_from_object import start_from_object
from lambdas.handlers.reactions.start_from_schedule import start_from_schedule
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import request
from tests.lambdas.cloud import Cloud


def cloud_of(*told: str) -> Cloud:
    return Cloud(tenants=parse_tenants(told or ["acme"]))


def put(cloud: Cloud, key: str, document: Any) -> dict[str, Any]:
    cloud.objects.objects[key] = json.dumps(document).encode()
    detail = {"bucket": {"name": "b"}, "object": {"key": key, "size": 1, "sequencer": "1"}}
    event = BusEvent.from_document({"detail-type": "Object Created", "source": "aws.s3", "detail": detail})
    return start_from_object(event, cloud.world)


def due(cloud: Cloud, document: Any, tenant: str | None) -> dict[str, Any]:
    detail = {"schedule": "nightly", "scheduledTime": "2026-12-01T02:00:00Z", "request": document}
    event = BusEvent.from_document({"detail-type": "Scheduled Start", "detail": detail})
    return start_from_schedule(event, cloud.world, tenant)


def test_a_request_below_a_tenants_prefix_runs_through_his_alias_under_a_name_of_his() -> None:
    cloud = cloud_of()
    put(cloud, "requests/tenant=acme/team/nightly.json", request())
    [(name, tenant)] = cloud.executions.tenants.items()
    assert (name.startswith("acme-team-nightly-"), tenant) == (True, "acme")
    assert "requests/tenant=acme/team/nightly.started.json" in cloud.objects.objects
    put(cloud, "requests/tenant=acme/named.json", request(name="acme-named"))
    assert set(cloud.executions.tenants.values()) == {"acme"}


def test_names_of_executions_have_room_for_the_longest_tenant() -> None:
    tenant = "a" * 20
    cloud = cloud_of(tenant)
    put(cloud, f"requests/tenant={tenant}/{'n' * 200}.json", request())
    [name] = cloud.executions.started
    assert name.startswith(f"{tenant}-n")
    assert len(name) <= 80


@pytest.mark.parametrize(
    ("key", "document", "told"),
    [
        ("requests/tenant=gone/a.json", {}, "$: tenant 'gone' is not configured here"),
        ("requests/tenant=/a.json", {}, "$: tenant '' is not configured here"),
        ("requests/tenant=acme/a.json", {"name": "a"}, "$.name: 'a' does not begin with 'acme-'"),
        ("requests/acme-a.json", {}, "is of tenant 'acme', and it was started without his alias"),
        ("requests/a.json", {"name": "acme-a"}, "$.name: 'acme-a' is of tenant 'acme'"),
    ],
)
def test_what_is_not_whose_it_says_is_refused(key: str, document: dict[str, Any], told: str) -> None:
    cloud = cloud_of()
    answer = put(cloud, key, request(**document))
    assert cloud.executions.started == {}
    assert told in answer["problems"][0]


def test_what_is_left_of_the_last_tenant_starts_nothing_as_the_operator() -> None:
    cloud = Cloud()
    answer = put(cloud, "requests/tenant=acme/a.json", request())
    assert (cloud.executions.started, answer["error"]) == ({}, "InvalidRequest")


def test_a_schedule_that_invokes_by_a_tenants_alias_starts_as_his() -> None:
    cloud = cloud_of()
    due(cloud, request(), "acme")
    [(name, tenant)] = cloud.executions.tenants.items()
    assert (name.startswith("acme-nightly-2026-12-01"), tenant) == (True, "acme")
    assert "not configured" in due(cloud, request(), "gone")["problems"][0]
    assert due(cloud, request(), None)["transferId"].startswith("nightly-")
