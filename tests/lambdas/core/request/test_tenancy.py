import pytest

from lambdas.core.request.tenancy import owner_of, problems_of_names, tenant_of_alias

MACHINE = "arn:aws:states:us-west-2:000000000000:stateMachine:cpt-transfer"
TENANTS = {"acme", "beta"}


def test_an_alias_says_whose_it_is() -> None:
    assert tenant_of_alias(f"{MACHINE}:acme") == "acme"
    assert tenant_of_alias("arn:aws:lambda:us-west-2:000000000000:function:cpt-pause-transfer:acme") == "acme"
    assert tenant_of_alias(MACHINE) is None
    assert tenant_of_alias("arn:aws:lambda:us-west-2:000000000000:function:cpt-pause-transfer") is None
    assert tenant_of_alias(None) is None


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("acme-a", "acme"),
        ("acme-", "acme"),
        ("acme", None),
        ("acmes-a", None),
        ("a-acme-b", None),
        ("beta-acme-b", "beta"),
    ],
)
def test_a_name_is_of_the_tenant_that_it_begins_with(name: str, owner: str | None) -> None:
    assert owner_of(name, TENANTS) == owner


@pytest.mark.parametrize(
    ("tenant", "execution", "transfer"),
    [
        (None, "nightly", "nightly"),
        (None, "acme", "acmes-a"),
        ("acme", "acme-a", "acme-a"),
        ("acme", "acme-2", "acme-a"),
    ],
)
def test_names_of_whom_they_say_are_admitted(tenant: str | None, execution: str, transfer: str) -> None:
    assert problems_of_names(tenant, execution, transfer, TENANTS) == []


@pytest.mark.parametrize(
    ("tenant", "execution", "transfer", "told"),
    [
        (
            "acme",
            "b",
            "b",
            "execution name 'b' does not begin with 'acme-', as names of tenant 'acme' do; write 'acme-b'",
        ),
        ("acme", "acme-a", "a", "$.name: 'a' does not begin with 'acme-'"),
        ("acme", "beta-a", "acme-a", "execution name 'beta-a' does not begin with 'acme-'"),
        ("acme", "acme-a", "beta-a", "$.name: 'beta-a' does not begin with 'acme-'"),
        (None, "acme-a", "acme-a", "execution name 'acme-a' is of tenant 'acme', and it was started without his alias"),
        (None, "a", "acme-a", "$.name: 'acme-a' is of tenant 'acme', and it was started without his alias"),
        (
            "gone",
            "gone-a",
            "gone-a",
            "$: tenant 'gone' is not configured here; start through the alias of one that is (acme",
        ),
    ],
)
def test_other_names_are_refused_with_what_would_be_right(
    tenant: str | None, execution: str, transfer: str, told: str
) -> None:
    [problem] = problems_of_names(tenant, execution, transfer, TENANTS)
    assert problem.startswith(told)


def test_once_there_are_no_tenants_an_alias_that_was_left_starts_nothing() -> None:
    [problem] = problems_of_names("acme", "acme-a", "acme-a", {})
    assert problem.startswith("$: tenant 'acme' is not configured here; start without alias")
