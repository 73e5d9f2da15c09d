"""Every view at 80, 60 and 46 columns: whole and readable, no number cut or broken, nothing wider than the terminal."""

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType

from cli.console import PLAIN_WIDTH, Shown, make_console
from cli.estimate_view import comparison_table, estimate_table
from cli.fitting import Fitted
from cli.listing import Listed, table
from cli.live import live_view
from cli.map_view import map_view
from cli.render import report_view
from lambdas.core.estimate.model_table import GivenFigures, compare
from lambdas.core.watch.transfer_state import state_of
from lambdas.core.words import dollars
from tests.cli.transfers import EXAMPLES, records, relay
from tests.lambdas import maps

WIDTHS = pytest.mark.parametrize("width", [80, 60, 46])


def shown(view: RenderableType, width: int) -> str:
    stream = io.StringIO()
    Shown(file=stream, width=width, force_terminal=True, color_system=None).print(view)
    return stream.getvalue()


def document(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXAMPLES / path).read_text())
    return found


def whole(text: str, width: int, *wanted: str) -> None:
    """No line is longer, nothing is cut, and each of `wanted` stands on one line."""
    lines = text.splitlines()
    assert [line for line in lines if len(line.rstrip()) > width and "s3://" not in line] == []
    assert "…" not in text
    assert [words for words in wanted if not any(words in line for line in lines)] == []


@WIDTHS
@pytest.mark.parametrize("path", sorted((EXAMPLES / "estimate").glob("*.json")), ids=lambda path: path.stem)
def test_each_row_of_an_estimate_can_be_chosen_by_its_figures(path: Path, width: int) -> None:
    estimate = document(f"estimate/{path.name}")
    text = shown(estimate_table(estimate), width)
    whole(text, width, *(dollars(row["costUsd"]) for row in estimate["rows"]))
    whole(text, width, *(f"{row['speedup']:.2f} ×" for row in estimate["rows"]))
    assert "█" not in text
    marked = next(line for line in text.splitlines() if "▶" in line)
    assert re.match(rf" *▶ {estimate['chosenPairs']} ", marked)
    assert dollars(estimate["rows"][0]["costUsd"]) in text


@WIDTHS
def test_what_limits_a_row_stands_on_a_line_of_its_own(width: int) -> None:
    estimate = document("estimate/relays-help.json")
    estimate["rows"] = [{**row, "costUsd": 1234.5678} for row in estimate["rows"]]
    lines = [line.strip() for line in shown(estimate_table(estimate), width).splitlines()]
    for row in estimate["rows"]:
        beginning = row["limit"][: width - 20].rpartition(" ")[0]
        assert any(line.startswith(beginning) for line in lines), row["limit"]
    assert sum("$1,234.57" in line for line in lines) >= len(estimate["rows"])


def test_where_there_is_room_the_estimate_has_its_bars() -> None:
    text = shown(estimate_table(document("estimate/relays-help.json")), 120)
    assert "█" in text
    assert "limited by" in text


@WIDTHS
def test_models_are_compared_by_their_figures(width: int) -> None:
    figures = GivenFigures(
        intra=90, inter=15, pair_inter=15, source=90, destination=90, split=None, spawn_seconds=90,
        pre_test_seconds=60, export_seconds=0, import_seconds=0, relay_hour_usd=0.023, egress_usd_per_gb=0.02,
    )  # fmt: skip
    compared = compare(8_000_000_000, figures, ("sequential", "zero-wait"), range(3)).to_document()
    whole(shown(comparison_table(compared), width), width, *(dollars(row["costUsd"]) for row in compared["rows"]))


@WIDTHS
def test_a_transfer_that_runs_shows_whole_figures(width: int) -> None:
    state = state_of("nightly", records(), [relay("source-1-0", "JOINED", 1002.0)])
    text = shown(live_view(state), width)
    whole(text, width, "300 MB of 600 MB", "29.8 MB/s", "10.1 s left", "$0.0123 spent of $0.0246 estimated")
    whole(text, width, "50 %", "direct", "10.2 MB/s", "pair-1", "19.5 MB/s", "1 lane", "relays: 1 carry")


@WIDTHS
def test_whoever_is_to_approve_is_told_how(width: int) -> None:
    waiting = state_of("nightly", {"transfer": {"stages": {"Await Approval": {"enteredAt": 1, "leftAt": 2}}}}, [])
    text = shown(live_view(waiting), width)
    assert "cpt approve nightly [--pairs N]" in " ".join(text.split())
    whole(text, width)


@WIDTHS
@pytest.mark.parametrize("path", sorted((EXAMPLES / "report").glob("*.json")), ids=lambda path: path.stem)
def test_a_report_is_whole(path: Path, width: int) -> None:
    report = document(f"report/{path.name}")
    text = shown(report_view(report), width)
    long = [line for line in text.splitlines() if len(line.rstrip()) > width]
    assert [line for line in long if not re.search(r"s3://|arn:|cpt start|aws |[0-9a-f]{32}", line)] == []
    whole("\n".join(line for line in text.splitlines() if line not in long), width)
    assert [stage["stage"] for stage in report["stages"] if f"  {stage['stage']}" not in text] == []


@WIDTHS
def test_a_digest_is_one_word_of_one_line_with_its_command(width: int) -> None:
    report = document("report/dry-run-of-a-mirror.json")
    digest, where = report["dryRun"]["deleted"]["digest"], report["dryRun"]["deleted"]["where"]
    lines = shown(report_view(report), width).splitlines()
    assert f"  cpt start REQUEST --confirm-delete {digest}" in lines
    assert any(line.endswith(where) for line in lines)


def test_in_a_pipe_nothing_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    console = make_console()
    assert console.width == PLAIN_WIDTH
    report = document("report/dry-run-of-a-mirror.json")
    cause = "wrong " * 100
    console.print(report_view({**report, "status": "FAILED", "error": "SurveyProblem", "cause": cause}))
    console.print(estimate_table(document("estimate/relays-help.json")))
    text = stream.getvalue()
    assert f"SurveyProblem: {cause}" in text
    assert max(map(len, text.splitlines())) < 700, "and no line is padded to the width of the console"


@WIDTHS
def test_the_map_is_whole(width: int) -> None:
    found = maps.varied()
    stream = io.StringIO()
    console = Shown(file=stream, width=width, color_system=None)
    console.print(map_view(found, console))
    whole(stream.getvalue(), width, "110 → 16.0", "us-west-2 → eu-west-1 → ap-southeast-1", "2.53 ×")


@WIDTHS
def test_the_list_is_whole(width: int) -> None:
    began = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
    running = Listed("nightly", "RUNNING", began, 90.0, state_of("nightly", records(), []))
    rows = [running, Listed("a-transfer-with-a-long-name-0123456789", "FAILED", began, 58_281.0)]
    text = shown(Fitted(table(rows), sentences=["now"]), width)
    whole(text, width, "nightly", "a-transfer-with-a-long-name-0123456789", "300 MB of 600 MB", "1 min 30 s")
    assert "Start Transfer" in text
