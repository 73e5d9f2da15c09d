"""`cpt limit`, up to what it sends to its function; tests/e2e has it against a deployment."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import limiting, main
from cli.exit_codes import ExitCode


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    documents: list[dict[str, Any]] = []

    def call(_aws: object, function: str, document: dict[str, Any]) -> dict[str, Any]:
        documents.append(document)
        if function == "limit-transfers":
            return {**document, "shares": {"first": 120.0, "second": 40.5}}
        assert function == "limit-transfer"
        return document

    monkeypatch.setattr(limiting, "call", call)
    monkeypatch.setattr(limiting, "home", lambda *, local: None)
    return documents


@pytest.mark.parametrize(
    ("text", "mbps", "words"),
    [
        ("400", 400, "may send 400 Mbit/s"),
        ("none", None, "as much as it can"),
        ("timetable", "timetable", "by its timetable"),
    ],
)
def test_a_limit_is_sent_and_told(sent: list[dict[str, Any]], text: str, mbps: int | str | None, words: str) -> None:
    answer = CliRunner().invoke(main.app, ["limit", "nightly", "--mbps", text])
    assert sent == [{"transferId": "nightly", "bandwidthLimitMbps": mbps}]
    assert words in answer.stdout
    as_json = CliRunner().invoke(main.app, ["limit", "nightly", "--mbps", text, "--json"])
    assert json.loads(as_json.stdout) == sent[0]


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "fast", "99999999999999999999"])
def test_what_is_no_limit_is_refused_before_anything_is_sent(sent: list[dict[str, Any]], text: str) -> None:
    answer = CliRunner().invoke(main.app, ["limit", "nightly", "--mbps", text])
    assert answer.exit_code == ExitCode.USAGE
    assert "or none" in answer.stderr
    assert sent == []


@pytest.mark.parametrize(
    ("over", "document", "words"),
    [
        (["--all"], {}, "all transfers together may send 240 Mbit/s"),
        (["--label", "nightly"], {"label": "nightly"}, "the transfers of 'nightly' together may send 240 Mbit/s"),
    ],
)
def test_a_limit_over_several_is_sent_and_each_share_told(
    sent: list[dict[str, Any]], over: list[str], document: dict[str, Any], words: str
) -> None:
    answer = CliRunner().invoke(main.app, ["limit", *over, "--mbps", "240"])
    assert sent == [{**document, "bandwidthLimitMbps": 240}]
    assert words in answer.stdout
    assert "first: 120 Mbit/s" in answer.stdout
    as_json = CliRunner().invoke(main.app, ["limit", *over, "--mbps", "240", "--json"])
    assert json.loads(as_json.stdout)["shares"] == {"first": 120.0, "second": 40.5}


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["--mbps", "240"], "write the name of a transfer, or --all, or --label"),
        (["nightly", "--all", "--mbps", "240"], "write the name of a transfer, or --all, or --label"),
        (["--all", "--label", "x", "--mbps", "240"], "write the name of a transfer, or --all, or --label"),
        (["--label", "", "--mbps", "240"], "write the name of a transfer, or --all, or --label"),
        (["--all", "--mbps", "timetable"], "has no timetable; write Mbit/s, or none"),
    ],
)
def test_what_names_no_one_limit_is_refused_before_anything_is_sent(
    sent: list[dict[str, Any]], words: list[str], remedy: str
) -> None:
    answer = CliRunner().invoke(main.app, ["limit", *words])
    assert answer.exit_code == ExitCode.USAGE
    assert remedy in answer.stderr
    assert sent == []
