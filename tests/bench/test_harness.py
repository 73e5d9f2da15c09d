"""What the benchmark says before and after it measures."""

import json
from pathlib import Path

import pytest

from bench import results
from bench.data_plane import __main__ as entry
from bench.data_plane.bench import Bench
from bench.data_plane.peers.programs import first_version
from bench.data_plane.process import BenchError, running, until
from bench.results import Result, publish


def test_unknown_case_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        entry.parse(["--cases", "large-direct,nonsense"])
    assert "nonsense: no such case" in capsys.readouterr().err


def test_missing_daemon_is_named_with_its_remedy(tmp_path: Path) -> None:
    assert any("make bench-data-plane" in problem for problem in entry.problems(tmp_path / "cpt-laboratory"))


def test_case_that_fails_is_a_missed_bar_with_its_reason() -> None:
    def fails() -> list[Result]:
        raise BenchError("the receiver ended with 1")

    [row] = results.measured("large-direct", fails, entry.FAILURES)
    assert not row.holds
    assert "the receiver ended with 1" in row.note


def test_missed_bar_shows_no_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(results, "OUT", tmp_path)
    rows = [Result("fast", 5, "×", 4.2, "higher"), Result("slow", 3, "×", 4.2, "higher", "why")]
    assert publish("data-plane", rows, "make bench-data-plane", {"rclone": "1.2"}) == 1
    written = json.loads((tmp_path / "data-plane.json").read_text())
    assert [row["holds"] for row in written] == [True, False]
    assert written[0]["versions"]["rclone"] == "1.2"
    assert "NO" in capsys.readouterr().out


def test_program_that_fails_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with (
        running(["sh", "-c", "echo no route; exit 3"], tmp_path / "log") as program,
        pytest.raises(BenchError, match=r"ended with 3: no route"),
    ):
        program.wait(20)


def test_program_that_hangs_is_reported_and_killed(tmp_path: Path) -> None:
    with running(["sleep", "60"], tmp_path / "log") as program, pytest.raises(BenchError, match="did not end within"):
        program.wait(0.05)
    assert not Path(f"/proc/{program.pid}/status").exists()


def test_fastest_leaves_out_what_fails(tmp_path: Path) -> None:
    def fails() -> float:
        raise BenchError("refused")

    assert Bench(tmp_path, tmp_path, quick=True).fastest({"a": lambda: 2.0, "b": fails, "c": lambda: 1.0}) == "c"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("rclone v1.76.0-DEV\n- os/version: debian 12", "1.76.0-DEV"),
        ("HAProxy version 2.6.12-1+deb12u4 2026/01/01", "2.6.12-1+deb12u4"),
        ("no number", "unknown"),
    ],
)
def test_version_is_the_first_dotted_number(text: str, version: str) -> None:
    assert first_version(text) == version


def test_busy_program_is_seen_using_the_cpu(tmp_path: Path) -> None:
    with running(["sh", "-c", "while :; do :; done"], tmp_path / "log") as program:
        until(lambda: program.cpu_seconds() >= 0.05, "CPU time grows", [program])
        assert program.peak_bytes() > 0


def test_condition_that_never_holds_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="the ready file: not within"):
        until(lambda: False, "the ready file", timeout=0.02)


def test_program_that_ends_while_others_wait_for_it_is_reported(tmp_path: Path) -> None:
    with (
        running(["sh", "-c", "echo address in use; exit 1"], tmp_path / "log") as program,
        pytest.raises(BenchError, match="address in use"),
    ):
        until(lambda: False, "port 4600", [program])
