"""`cpt pause` and `cpt unpause`, up to what they send to their functions."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import main, pausing


@pytest.mark.parametrize("command", ["pause", "unpause"])
@pytest.mark.parametrize("changed", [True, False])
def test_the_function_of_the_act_is_called_and_its_answer_told(
    monkeypatch: pytest.MonkeyPatch, command: str, changed: bool
) -> None:
    sent: list[tuple[str, dict[str, Any]]] = []

    def call(_aws: object, function: str, document: dict[str, Any]) -> dict[str, Any]:
        sent.append((function, document))
        return {**document, "paused": command == "pause", "changed": changed}

    monkeypatch.setattr(pausing, "call", call)
    monkeypatch.setattr(pausing, "home", lambda *, local: None)
    answer = CliRunner().invoke(main.app, [command, "nightly"])
    assert sent == [(f"{command}-transfer", {"transferId": "nightly"})]
    assert answer.stdout.startswith("nightly ")
    assert ("cpt unpause nightly" in answer.stdout) == (command == "pause")
    as_json = json.loads(CliRunner().invoke(main.app, [command, "nightly", "--json"]).stdout)
    assert as_json == {"transferId": "nightly", "paused": command == "pause", "changed": changed}
