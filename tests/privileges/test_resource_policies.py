"""Policies of queues, topics, bucket and functions let in services of AWS alone, for what is ours."""

import json
from collections.abc import Iterator
from typing import Any

from tests.privileges.grants import ASSEMBLY, Grant, Resources, granted

TOPIC_OF_NEWS = "sns:Publish by events.amazonaws.com"
"""AWS documents no condition for topics that EventBridge publishes to."""


def resources() -> Iterator[tuple[str, dict[str, Any]]]:
    """Type and properties of each resource of all stacks."""
    for file in sorted(ASSEMBLY.glob("*.template.json")):
        for resource in json.loads(file.read_text())["Resources"].values():
            yield resource["Type"], resource.get("Properties", {})


def granted_by_resources() -> Iterator[Grant]:
    """Each action in their policies, refusals included; `s3:*` and its like name no action to look up."""
    for file in sorted(ASSEMBLY.glob("*.template.json")):
        template: Resources = json.loads(file.read_text())["Resources"]
        for logical, resource in template.items():
            if resource["Type"].endswith("Policy") and "Principal" in str(resource["Properties"].get("PolicyDocument")):
                for statement in resource["Properties"]["PolicyDocument"]["Statement"]:
                    found = granted(logical, statement, template)
                    yield from (grant for grant in found if not grant.action.endswith("*"))


def allowed() -> list[dict[str, Any]]:
    """Statements that let somebody in."""
    documents = [of["PolicyDocument"] for kind, of in resources() if kind.endswith("Policy") and "Roles" not in of]
    statements = [one for document in documents for one in document["Statement"] if "Principal" in one]
    return [statement for statement in statements if statement["Effect"] == "Allow"]


def test_only_services_of_aws_are_let_in() -> None:
    assert allowed()
    assert [one for one in allowed() if set(one["Principal"]) != {"Service"}] == []


def test_a_service_is_let_in_for_our_rules_and_alarms_but_at_the_topic_of_news() -> None:
    free = [f"{one['Action']} by {one['Principal']['Service']}" for one in allowed() if "Condition" not in one]
    assert free == [TOPIC_OF_NEWS]


def test_functions_are_invoked_by_our_rules_alone() -> None:
    permissions = [properties for kind, properties in resources() if kind == "AWS::Lambda::Permission"]
    assert permissions
    assert {one["Principal"] for one in permissions} == {"events.amazonaws.com"}
    assert all("SourceArn" in one for one in permissions)
