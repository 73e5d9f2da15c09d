"""CloudFormation takes 1 MB of a template: what is written into one is its content, and no indentation."""

import json

from tests.paths import ROOT

MOST_BYTES = 1_000_000


def test_the_template_of_the_control_plane_is_written_as_short_as_it_can_be() -> None:
    text = (ROOT / "cdk.out" / "cpt-control.template.json").read_text()
    shortest = len(json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False))
    assert len(text.encode()) < MOST_BYTES / 2
    assert len(text) < 1.01 * shortest
