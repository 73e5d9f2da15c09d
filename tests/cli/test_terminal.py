"""Terminals that cannot encode every character: processes under the locale POSIX, into a pipe and into a terminal."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
POSIX = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "POSIX", "TERM": "dumb", "COLUMNS": "120"}
FIGURES = ("--size", "8GB", "--vi", "150", "--ve", "20", "--tv", "30", "--price-hour", "0.1", "--egress", "0.02")
Run = Callable[..., tuple[int, bytes]]


def command(words: tuple[str, ...], **more: str) -> tuple[list[str], dict[str, str]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    return [sys.executable, "-m", "tests.cli.posix", *words], {**environment, **POSIX, **more}


def piped(*words: str, **more: str) -> tuple[int, bytes]:
    argv, environment = command(words, **more)
    done = subprocess.run(
        argv, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode, done.stdout


def at_terminal(*words: str, **more: str) -> tuple[int, bytes]:
    argv, environment = command(words, **more)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(argv, cwd=CHECKOUT, env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 65_536):
            shown += block
    except OSError:  # the terminal's other end is closed
        pass
    finally:
        os.close(ours)
    return process.wait(), shown


HELPS = ("estimate", "doctor", "start", "watch", "list", "approve", "limit", "cancel", "report", "teardown", "redrive")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (piped, ("estimate", *FIGURES)),
        (at_terminal, ("estimate", *FIGURES)),
        (piped, ("estimate", *FIGURES, "--model", "all")),
        (piped, ("estimate", *FIGURES, "--json")),
        (piped, ("estimate", "--size", "8 \u00fc")),
        (piped, ("list",)),
        (at_terminal, ("list",)),
        (piped, ("pictures",)),
        (at_terminal, ("pictures",)),
        (piped, ("no such command",)),
        (at_terminal, ("--help",)),
        *((piped, (name, "--help")) for name in (*HELPS, "local")),
    ],
)
def test_every_picture_is_ascii_where_nothing_else_can_be_shown(run: Run, words: tuple[str, ...]) -> None:
    code, shown = run(*words)
    text = shown.decode("ascii")
    assert text.strip()
    assert "Traceback" not in text
    assert code == (2 if words[0] == "no such command" or "8 \u00fc" in words else 0), text


def test_marks_and_bars_have_likenesses_and_columns_stay_where_they_are() -> None:
    _, shown = piped("pictures")
    lines = shown.decode("ascii").splitlines()
    assert any(line.lstrip("| ").startswith("> 3") and "####" in line and "1.00 x" in line for line in lines)
    assert any(line.startswith("+ clock") for line in lines)
    assert any(line.startswith("x clock") and line.endswith("...") for line in lines)
    assert any(line.strip() == "-> correct it" for line in lines)
    assert "?" not in "".join(line for line in lines if "clock" in line or "#" in line)


def test_text_beyond_ascii_is_escaped_and_told_as_it_came() -> None:
    assert b"\\xc3\\xbc" in piped("estimate", "--size", "8\u00fc")[1]


def test_terminal_of_utf_8_shows_everything_as_it_is() -> None:
    _, shown = piped("pictures", LC_ALL="C.UTF-8", PYTHONUTF8="1")
    assert all(character in shown.decode() for character in "▶█×✓✗→…")


def test_terminal_of_latin_1_shows_what_it_has_and_likenesses_of_the_rest() -> None:
    _, shown = piped("pictures", PYTHONIOENCODING="latin-1")
    text = shown.decode("latin-1")
    assert "1.00 ×" in text
    assert "> 3" in text
