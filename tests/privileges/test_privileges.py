"""Nothing is granted that is not used, but what an exception speaks for; `make privileges` records what is used."""

import json
from pathlib import Path

import pytest

from tests.privileges.compare import Comparison, compare
from tests.privileges.exceptions import EXCEPTIONS
from tests.privileges.grants import ROOT, Grant, Role, read_roles
from tests.privileges.network import read_groups
from tests.privileges.page import PAGE, drawn
from tests.privileges.recorded import read_recorded, read_runs, write_recorded
from tests.privileges.unused import Unused

REMEDY = (
    "record a test that uses it (`make privileges ARGS=tests/e2e/test_….py`), "
    "say in tests/privileges/exceptions.py why it is granted all the same, or take it away"
)
DRAW = "the templates, the record or the exceptions have changed: draw it anew with `python -m tests.privileges`"
# Fn::GetAtt of a log group ends in `:*`, its streams.
OWN_LOG = ":log-group:/aws/lambda/"


@pytest.fixture(scope="module")
def roles() -> dict[str, Role]:
    return read_roles()


@pytest.fixture(scope="module")
def found(roles: dict[str, Role]) -> Comparison:
    return compare(roles, set(read_recorded()))


def test_what_is_granted_is_used_or_an_exception_says_why(found: Comparison) -> None:
    assert list(map(str, found.unexplained)) == [], f"granted and never used: {REMEDY}"


def test_each_exception_is_still_needed(found: Comparison) -> None:
    assert found.needless == [], "used by now, or not granted any more: take it out of tests/privileges/exceptions.py"


def test_what_was_recorded_is_still_granted(found: Comparison) -> None:
    assert list(map(str, found.gone)) == [], f"no role has it any more: {DRAW}"


@pytest.mark.parametrize("test", sorted({entry.held_by for entry in EXCEPTIONS if entry.held_by}))
def test_what_no_recorded_run_uses_is_held_by_a_test_that_exists(test: str) -> None:
    file, _, name = test.partition("::")
    assert f"def {name}(" in (ROOT / "tests" / file).read_text()


def test_page_shows_what_the_templates_grant(roles: dict[str, Role], found: Comparison) -> None:
    page = PAGE.read_text()
    assert page == drawn(page, roles, read_groups(), found), DRAW


def test_each_wildcard_has_its_reason_on_its_role(roles: dict[str, Role]) -> None:
    for role in roles.values():
        wild = {grant.resource for grant in role.grants if "*" in grant.resource and OWN_LOG not in grant.resource}
        assert wild - role.reasons.keys() == set(), role.name
        assert all(len(why) > 20 for whys in role.reasons.values() for why in whys), role.name


def test_roles_are_for_services_of_aws_alone(roles: dict[str, Role]) -> None:
    for role in roles.values():
        assert all(trusted.keys() == {"Service"} for trusted in role.trusts), role.name


def test_relays_reach_their_program_and_the_ssm_agent_and_nothing_else(roles: dict[str, Role]) -> None:
    relay = roles["cpt-relay-REGION"]
    assert {grant.action.split(":")[0] for grant in relay.grants} == {"kms", "s3", "ssm", "ssmmessages"}
    assert [grant.resource.split("/")[0] for grant in relay.grants if grant.action.startswith("s3:")] == [
        "arn:aws:s3:::cdk-hnb659fds-assets-ACCOUNT-REGION"
    ]
    assert [grant.action for grant in relay.grants if grant.action.startswith("kms:")] == ["kms:Decrypt"]
    assert not [grant for grant in relay.grants if grant.action.startswith("ssm:") and "Parameter" in grant.action]


def test_no_security_group_admits_anybody_before_a_transfer() -> None:
    groups = read_groups()
    assert [group.name for group in groups] == ["cpt-endpoint", "cpt-relay"]
    assert all(group.admits == () for group in groups)


def grants(role: str = "role", *actions: str) -> set[Grant]:
    return {Grant(role, f"service:{action}", "*", "") for action in actions}


def test_unused_grant_without_an_exception_and_needless_exception_are_told() -> None:
    role = Role("role", grants=grants("role", "Used", "Unused", "Excused"))
    excuse, needless = Unused("*", "service:Ex*", "*", "x"), Unused("role", "service:Used", "*", "x")
    found = compare({"role": role}, grants("role", "Used", "Gone"), [excuse, needless])
    assert found.used == grants("role", "Used")
    assert set(found.unexplained) == grants("role", "Unused")
    assert found.excused == dict.fromkeys(grants("role", "Excused"), excuse)
    assert (found.needless, set(found.gone)) == ([needless], grants("role", "Gone"))


@pytest.mark.parametrize("shortened", [False, True])
def test_runs_are_read_by_the_names_that_cloudformation_made(tmp_path: Path, *, shortened: bool) -> None:
    role = Role("cpt-retry-chunk", physical=["cpt-control-FunctionsRetryChunkRole76B6FC72"])
    arn = "arn:aws:dynamodb:us-west-2:000000000000:table/cpt-chunks"
    call = {"resource": arn, "region": "us-west-2", "context": {}}
    condition = {"StringLike": {"s3:prefix": "x"}}
    use = {"action": "dynamodb:UpdateItem", "resource": arn, "condition": condition, "call": call}
    names = [f"{role.physical[0]}-ABC123DEF456", "cpt-control-Another-ABC123DEF456", "cpt-endpoint"]
    if shortened:
        names[0] = f"{role.physical[0][:-4]}ABC123DEF4567"
    (tmp_path / "run").write_text("".join(json.dumps({"role": name, **use}) + "\n" for name in names))
    found = read_runs([tmp_path / "run"], {role.name: role})
    table = "arn:aws:dynamodb:REGION:ACCOUNT:table/cpt-chunks"
    assert found == {Grant("cpt-retry-chunk", "dynamodb:UpdateItem", table, "StringLike s3:prefix"): call}


def test_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    call = {"resource": "arn:y", "region": "us-west-2", "context": {"ec2:encrypted": "true"}}
    used = {Grant("a", "s:One", "*", ""): call, Grant("a", "s:Two", "arn:x", "Bool ec2:Encrypted"): call}
    write_recorded(used, tmp_path / "record")
    assert read_recorded(tmp_path / "record") == used
