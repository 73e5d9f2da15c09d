"""Waves as people see them: a line for each step, and the command that comes next."""

import json
from typing import Any

import pytest
from rich.console import Console

from cli.waves_view import waves_view
from lambdas.core.waves.waves import Waves
from tests.cli.transfers import EXAMPLES

WAVES = Waves.from_document(json.loads((EXAMPLES / "waves" / "cut-over-now.json").read_text()))
HIDDEN = WAVES.model_copy(update={"confirm": None})


def lines(waves: Waves, and_local: str = "", **changes: Any) -> list[str]:
    console = Console(width=140)
    with console.capture() as captured:
        console.print(waves_view(waves.model_copy(update=changes), and_local))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_a_look_shows_what_is_left_and_a_wave_what_it_has_moved() -> None:
    shown = lines(WAVES)
    [wave] = [" ".join(line.split()) for line in shown if "archive-wave-1" in line]
    assert wave == "archive-wave-1 succeeded with skips 4,019 files, 2.00 GB 58.0 s 55.1 s $0.0436"
    [look] = [" ".join(line.split()) for line in shown if "archive-look-2" in line]
    assert look == "archive-look-2 succeeded 12 files, 5 MB left 25.4 s 13.9 s $0.0004"
    assert WAVES.said in shown
    assert "$0.0444 in all" in shown


def test_a_step_that_runs_has_no_figures_yet() -> None:
    running = Waves.from_document(json.loads((EXAMPLES / "waves" / "moving.json").read_text()))
    shown = lines(running)
    [step] = [line for line in shown if " running" in line]
    assert "0 files" not in step
    assert not any("--cut-over" in line for line in shown)


@pytest.mark.parametrize("status", ["CUT_OVER_NOW", "NOT_YET"])
def test_the_next_command_cuts_over(status: str) -> None:
    shown = lines(HIDDEN, " --local", status=status, label="the archive's")
    command = """cpt waves REQUEST --label 'the archive'"'"'s' --cut-over --watch --local"""
    assert shown[-2:] == ["stop what writes to the source, then:", f"  {command}"]


def test_where_something_is_deleted_it_is_looked_at_and_confirmed_first() -> None:
    assert lines(WAVES)[-3:] == [
        "stop what writes to the source, look at what is deleted then, and confirm it:",
        "  cpt waves REQUEST --label archive --most 0 --watch",
        "  cpt waves REQUEST --label archive --cut-over --confirm-delete DIGEST --watch",
    ]


@pytest.mark.parametrize("status", ["RUNNING", "FAILED", "STOPPED", "CUT_OVER"])
def test_otherwise_there_is_no_next_command(status: str) -> None:
    assert lines(WAVES, status=status)[-1] == "$0.0444 in all"
