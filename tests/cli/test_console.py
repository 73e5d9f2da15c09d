"""What a document says commands no terminal: each of its strings, through every view."""

import ast
import copy
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Group, RenderableType
from rich.text import Text as RichText

from cli import reporting
from cli.console import Shown, Text, line, say
from cli.estimate_view import comparison_table, estimate_table
from cli.live import live_view
from cli.map_view import map_view
from cli.render import report_view
from cli.watching import Lines
from lambdas.core.estimate.model_table import GivenFigures, compare
from lambdas.core.estimate.network_map import NetworkMap
from lambdas.core.visible import visible, visible_values
from lambdas.core.watch.transfer_state import state_of
from tests.cli.transfers import EXAMPLES, records, relay
from tests.lambdas import maps

CLI = Path(__file__).parents[2] / "cli"
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\r\u202e\u2066SUCCEEDED"
FORBIDDEN = {chr(code) for code in (*range(10), *range(11, 32), *range(127, 160), 0x202E, 0x2066)}


def printed(view: RenderableType, width: int = 100) -> str:
    stream = io.StringIO()
    Shown(file=stream, width=width).print(view)
    return stream.getvalue()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


def poisoned(document: Any) -> Iterator[Any]:
    """The document with one string after another made evil; those that have a form of their own are refused."""
    for path in places(document):
        changed = copy.deepcopy(document)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] += EVIL
        yield changed


VIEWS: dict[str, Any] = {"report": report_view, "estimate": estimate_table}


@pytest.mark.parametrize("kind", VIEWS)
def test_no_string_of_a_document_commands_a_terminal(kind: str) -> None:
    seen = 0
    for path in sorted((EXAMPLES / kind).glob("*.json")):
        for document in poisoned(json.loads(path.read_text())):
            try:
                view = VIEWS[kind](document)
            except (ValueError, KeyError):  # a key, a status, or a name of fixed form
                continue
            text = printed(view)
            assert not FORBIDDEN & set(text), ascii(text)
            seen += "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\x7f\\x0d\\u202e\\u2066SUCCEEDED" in text.replace("\n", "")
    assert seen > 20, "most of what is poisoned is shown, written out"


def test_no_string_of_records_commands_a_terminal_that_watches() -> None:
    nodes = [relay("source-1-0", "LOST", 1002.0, joinedAt=1008.0, endedAt=1020.0, reason="spot")]
    known = json.loads(json.dumps({"records": records(), "nodes": nodes}, default=float))
    shown = 0
    for document in poisoned(known):
        try:
            state = state_of("nightly" + EVIL, document["records"], document["nodes"])
            stream = io.StringIO()
            console = Shown(file=stream, width=100)
            Lines(console)(state)
            console.print(live_view(state))
        except (ValueError, KeyError):
            continue
        assert not FORBIDDEN & set(stream.getvalue())
        shown += "\\x1b]0;owned" in stream.getvalue()
    assert shown > 5


def test_other_views_command_none_either() -> None:
    figures = GivenFigures(
        intra=90, inter=15, pair_inter=15, source=90, destination=90, split=None, spawn_seconds=90,
        pre_test_seconds=60, export_seconds=0, import_seconds=0, relay_hour_usd=0, egress_usd_per_gb=0,
    )  # fmt: skip
    compared = compare(10**9, figures, ("sequential",), range(1)).to_document()
    compared["rows"][0]["limit"] += EVIL
    found = maps.varied()
    noted = NetworkMap.from_document({**found.to_document(), "notes": [EVIL]})
    text = printed(Group(comparison_table(compared), map_view(noted, Shown(width=100))))
    assert text.count("SUCCEEDED") == 2
    assert not FORBIDDEN & set(text)


def test_a_cause_forges_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    cause = f"'{EVIL}'\nSUCCEEDED: all is well"
    with pytest.raises(typer.Exit):
        reporting.finish({"status": "FAILED", "error": "SurveyProblem", "cause": cause}, as_json=False)
    said = capsys.readouterr().err
    assert not FORBIDDEN & set(said)
    assert [one for one in said.splitlines() if one.startswith("SUCCEEDED")] == []
    failed = json.loads((EXAMPLES / "report" / "succeeded.json").read_text())
    text = printed(report_view({**failed, "status": "FAILED", "error": "SurveyProblem", "cause": cause}))
    assert [one for one in text.splitlines() if one.startswith("SUCCEEDED")] == []


def test_json_is_for_programs_and_keeps_every_character(capsys: pytest.CaptureFixture[str]) -> None:
    say(json.dumps({"path": EVIL}))
    said = capsys.readouterr().out
    assert json.loads(said) == {"path": EVIL}
    assert not FORBIDDEN & set(said)


@pytest.mark.parametrize("view", [EVIL, Text(EVIL), Text("a").append(EVIL), line(EVIL), RichText(EVIL)], ids=repr)
def test_all_that_reaches_a_console_is_written_out(view: RenderableType) -> None:
    text = printed(view)
    assert "\\x1b[2J" in text
    assert not FORBIDDEN & set(text)


def test_markup_in_a_name_is_a_part_of_the_name() -> None:
    assert printed("[red]set[/] [/nope] :smile:").strip() == "[red]set[/] [/nope] :smile:"


def test_line_feeds_and_other_languages_stay() -> None:
    assert visible("a\n日本 ü é\u0301 🙂") == "a\n日本 ü é\u0301 🙂"
    assert visible_values({"a\x1b": ["\x07", 1, None, {"b": True}]}) == {"a\\x1b": ["\\x07", 1, None, {"b": True}]}


OTHER_WAYS = {"echo", "secho", "print", "stdout", "stderr", "Console", "print_json", "out"}


@pytest.mark.parametrize("path", sorted(CLI.rglob("*.py")), ids=lambda path: str(path.relative_to(CLI)))
def test_there_is_no_other_way_out(path: Path) -> None:
    """Whoever prints takes `say` or a console that `cli.console` makes, and its Text."""
    if path.name in ("console.py", "terminal.py"):
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.module not in ("rich.text", "rich"), node.lineno
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                assert called.id not in ("print", "Console"), node.lineno
            elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                assert not (called.value.id in ("typer", "click", "sys", "rich") and called.attr in OTHER_WAYS), (
                    node.lineno
                )
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            assert not (node.value.attr in ("stdout", "stderr") and node.attr == "write"), node.lineno
