"""Settings of the checkout: what is wrong with cdk.json is told in words, whatever command meets it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.aws import home
from cli.exit_codes import ExitCode
from cli.main import app

REGIONS: dict[str, object] = {"us-west-2": {}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{bad", "is not JSON: Expecting property name"),
        ("[]", "has no object context.cpt; docs/deploy.md lists its keys"),
        ('{"context": {}}', "has no object context.cpt; docs/deploy.md lists its keys"),
        ('{"context": {"cpt": "x"}}', "has no object context.cpt; docs/deploy.md lists its keys"),
        (
            json.dumps({"context": {"cpt": {"regions": REGIONS}}}),
            ': context.cpt.homeRegion is missing; write the region of the deployment, e.g. "us-west-2"',
        ),
        (
            json.dumps({"context": {"cpt": {"regions": REGIONS, "homeRegion": 5}}}),
            ": context.cpt.homeRegion 5 is not valid; write the region of the deployment",
        ),
        (
            json.dumps({"context": {"cpt": {"homeRegion": "us-west-2"}}}),
            ": context.cpt.regions is missing; write the enrolled regions",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_named_with_what_is_right(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "cdk.json"
    settings.write_text(text)
    answer = CliRunner().invoke(app, ["list", "--local"])
    assert answer.exit_code == ExitCode.USAGE
    assert answer.stderr.startswith(f"cpt: {settings}")
    assert words in answer.stderr


def test_settings_that_cannot_be_read_are_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cdk.json").mkdir()
    answer = CliRunner().invoke(app, ["list"])
    assert answer.exit_code == ExitCode.USAGE
    assert answer.stderr == f"cpt: {tmp_path / 'cdk.json'}: Is a directory; cpt reads its settings there\n"


def test_deployment_without_a_name_is_called_cpt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cdk.json").write_text(
        json.dumps({"context": {"cpt": {"homeRegion": "eu-west-1", "regions": REGIONS}}})
    )
    aws = home(local=False)
    assert (aws.region, aws.deployment, aws.endpoint_url) == ("eu-west-1", "cpt", None)
