"""`cpt approve`, up to what it sends to its function; tests/e2e has it against a deployment."""

from typing import Any

import pytest
from typer.testing import CliRunner

from cli import approving, main
from cli.exit_codes import ExitCode


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    documents: list[dict[str, Any]] = []

    def call(_aws: object, function: str, document: dict[str, Any]) -> dict[str, Any]:
        assert function == "decide-approval"
        documents.append(document)
        return {"pairs": 2, **document}

    monkeypatch.setattr(approving, "call", call)
    monkeypatch.setattr(approving, "home", lambda *, local: None)
    return documents


@pytest.mark.parametrize(("words", "chosen"), [([], {}), (["--pairs", "0"], {"pairs": 0})])
def test_row_is_sent_where_one_is_chosen(sent: list[dict[str, Any]], words: list[str], chosen: dict[str, int]) -> None:
    assert CliRunner().invoke(main.app, ["approve", "nightly", *words]).exit_code == 0
    assert sent == [{"transferId": "nightly", "decision": "approve", **chosen}]


@pytest.mark.parametrize("text", ["two", "-1", "1.5", "65", ""])
def test_what_is_no_row_is_refused_before_anything_is_sent(sent: list[dict[str, Any]], text: str) -> None:
    answer = CliRunner().invoke(main.app, ["approve", "nightly", "--pairs", text])
    assert (answer.exit_code, sent) == (ExitCode.USAGE, [])
    assert answer.stderr == f"cpt: --pairs {text}: write a row's number of pairs, 0 to 64, e.g. 3\n"
