"""Two judges who know nothing of the local cloud: AWS's authorization reference, and a simulator of IAM."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.privileges.grants import ROOT, Grant, Role, read_policies, read_roles
from tests.privileges.judges import ACCOUNT, Case, cases_of, is_installed, judged
from tests.privileges.recorded import read_recorded
from tests.privileges.reference import EXCUSED, excused, faults
from tests.privileges.test_resource_policies import granted_by_resources

LEAST_DENIED = 500  # of about 2 500 cases; a recorded call that is changed in what nothing limits is allowed still


@pytest.fixture(scope="module")
def roles() -> dict[str, Role]:
    return read_roles()


def permissions(roles: dict[str, Role]) -> Iterator[Grant]:
    for role in roles.values():
        yield from sorted(grant for grant in role.grants if not grant.action.startswith("policy:"))
    yield from granted_by_resources()


def test_each_permission_is_one_that_aws_checks(roles: dict[str, Role]) -> None:
    """The action exists, it is authorised on that kind of resource, and each condition key applies to both."""
    found = {
        f"{grant.role}: {fault}"
        for grant in permissions(roles)
        if not excused(grant.action, grant.resource)
        for fault in faults(grant.action, grant.resource, [item.split(" ", 1)[1] for item in conditions(grant)])
    }
    assert sorted(found) == []


def conditions(grant: Grant) -> list[str]:
    return grant.condition.split(", ") if grant.condition else []


def test_each_exception_is_still_needed(roles: dict[str, Role]) -> None:
    faulty = {
        (grant.action, grant.resource.split(":", 5)[-1])
        for grant in permissions(roles)
        if any(faults(grant.action, grant.resource, []))
    }
    assert faulty == set(EXCUSED)


@pytest.mark.parametrize(
    ("action", "resource", "keys", "fault"),
    [
        ("ec2:RevokeSecurityGroup", "*", [], "does not exist"),
        ("ec2:RevokeSecurityGroupIngress", "arn:aws:ec2:REGION:ACCOUNT:security-group-rule/*", [], "is not authorised"),
        ("ec2:TerminateInstances", "*", [], "granted on *, and has instance"),
        ("ec2:TerminateInstances", "arn:aws:ec2:REGION:ACCOUNT:instance/*", ["ec2:Owner"], "has no key ec2:Owner"),
        ("sns:Publish", "arn:aws:sns:REGION:ACCOUNT:cpt", ["aws:RequestTag/x"], "has no key aws:RequestTag/x"),
    ],
)
def test_a_permission_that_aws_does_not_check_is_found(action: str, resource: str, keys: list[str], fault: str) -> None:
    (found,) = faults(action, resource, keys)
    assert fault in found


def test_what_is_installed_with_the_product_has_no_license_that_asks_for_its_source() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    licenses = {name: str(package.get("license")) for name, package in packages.items()}
    assert len(licenses) > 100
    assert [name for name, text in licenses.items() if "GPL" in text and " OR " not in text] == []


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return cases_of(read_recorded(), {role: len(variants) for role, variants in read_policies(ACCOUNT).items()})


@pytest.fixture(scope="module")
def decisions(cases: list[Case]) -> dict[str, list[str]]:
    assert is_installed(), "run `make tests/privileges/node_modules/stamp`"
    return judged(cases)


def test_both_judges_decide_alike(cases: list[Case], decisions: dict[str, list[str]]) -> None:
    """On each recorded call, and on those that differ from it in account, region, id or one condition key."""
    told = zip(cases, *decisions.values(), strict=True)
    differ = [f"{case}: {dict(zip(decisions, pair, strict=True))}" for case, *pair in told if pair[0] != pair[1]]
    assert differ == []


def test_recorded_calls_are_allowed_and_many_others_are_not(cases: list[Case], decisions: dict[str, list[str]]) -> None:
    for judge, decided in decisions.items():
        allowed = {(c.role, c.action, c.resource) for c, d in zip(cases, decided, strict=True) if d == "Allowed"}
        recorded = {(c.role, c.action, c.resource) for c in cases if c.what == "as recorded"}
        assert recorded - allowed == set(), judge
        assert Counter(decided)["ImplicitlyDenied"] > LEAST_DENIED, judge
