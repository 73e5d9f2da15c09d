import pytest
from pydantic import ValidationError

from lambdas.core.pool.tenant import TenantTerms, guarantee_problems, parse_tenants


def terms(guarantee: float, limit: float | None = None) -> TenantTerms:
    return TenantTerms(guarantee_mb_s=guarantee, limit_mb_s=limit)


def test_guarantees_that_the_standing_nodes_carry_are_admitted() -> None:
    assert guarantee_problems({"ann": terms(60.0), "bob": terms(40.0)}, 100.0, "eu-west-1") == []
    assert guarantee_problems({}, 0.0, "eu-west-1") == []


def test_guarantees_beyond_them_are_refused_with_the_sum_and_what_would_do() -> None:
    (problem,) = guarantee_problems({"ann": terms(60.0), "bob": terms(50.0), "cat": terms(0.0)}, 100.0, "eu-west-1")
    assert problem == (
        "tenants: guarantees of 110 MB/s (ann 60, bob 50) in eu-west-1, where the pool's least number of nodes "
        "carries 100 MB/s; lower them by 10 MB/s, or raise the pool's min"
    )


def test_a_guarantee_above_the_tenants_own_limit_is_refused() -> None:
    (problem,) = guarantee_problems({"ann": terms(60.0, limit=50.0)}, 100.0, "eu-west-1")
    assert problem.startswith("tenants.ann.guaranteeMBps: 60 is above the tenant's limitMBps, 50")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("weight", 0),
        ("weight", 1001),
        ("guaranteeMBps", -1),
        ("limitMBps", 0),
        ("activeTransfers", 0),
        ("relays", -1),
        ("usdPerMonth", 0),
    ],
)
def test_what_no_tenant_can_have_is_refused_by_its_key(key: str, value: float) -> None:
    with pytest.raises(ValidationError, match=key):
        TenantTerms.from_document({key: value})


def test_terms_are_read_as_people_write_them_and_as_functions_have_them() -> None:
    written = {
        "weight": 2,
        "guaranteeMBps": 50,
        "limitMBps": 200,
        "activeTransfers": 3,
        "relays": 8,
        "usdPerMonth": 0.5,
    }
    assert TenantTerms.from_document(written).to_document() == written
    told = ["acme w=2 g=50 l=200 t=3 r=8 d=0.5", "bob"]
    assert parse_tenants(told) == {"acme": TenantTerms.from_document(written), "bob": TenantTerms()}
    assert parse_tenants([]) == {}


@pytest.mark.parametrize("text", ["acme x=1", "acme t=1.5", "acme w=-1"])
def test_terms_that_no_stack_has_written_are_refused(text: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        parse_tenants([text])
