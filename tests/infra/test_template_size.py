"""What is written into a template is its content, and no indentation: CloudFormation takes 1 MB of it."""

import json
from pathlib import Path

import pytest

from tests.paths import ROOT

TEMPLATES = sorted((ROOT / "cdk.out").glob("*.template.json"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_template_is_written_as_short_as_it_can_be(template: Path) -> None:
    text = template.read_text()
    assert text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
