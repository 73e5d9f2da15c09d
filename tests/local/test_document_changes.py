"""A deployed command document gets a new version; one that would be made anew finds its name taken."""

import uuid
from typing import Any

import pytest

from local.cloud import LocalCloud
from tests.local.stacks import deployed


@pytest.fixture
def name() -> str:
    return f"document-{uuid.uuid4()}"


def of_script(cloud: LocalCloud, name: str, script: str, **more: str) -> str:
    """The status of a stack, made or updated, whose document runs the script."""
    content: dict[str, Any] = {
        "schemaVersion": "2.2",
        "description": "a test's",
        "mainSteps": [{"action": "aws:runShellScript", "name": "run", "inputs": {"runCommand": [script]}}],
    }
    document = {"Name": name, "DocumentType": "Command", "Content": content, **more}
    return deployed(cloud, name, "AWS::SSM::Document", document)


def test_a_document_that_asks_for_versions_is_changed_in_place(cloud: LocalCloud, name: str) -> None:
    assert of_script(cloud, name, "echo one", UpdateMethod="NewVersion") == "CREATE_COMPLETE"
    assert of_script(cloud, name, "echo two", UpdateMethod="NewVersion") == "UPDATE_COMPLETE"
    found = cloud.client("ssm").get_document(Name=name)
    assert (found["DocumentVersion"], "echo two" in found["Content"]) == ("2", True)


def test_a_document_that_would_be_made_anew_finds_its_name_taken(cloud: LocalCloud, name: str) -> None:
    assert of_script(cloud, name, "echo one") == "CREATE_COMPLETE"
    assert of_script(cloud, name, "echo two") == "UPDATE_ROLLBACK_COMPLETE"
    assert "echo one" in cloud.client("ssm").get_document(Name=name)["Content"]
