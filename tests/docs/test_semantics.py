"""Each promise of docs/semantics.md names the tests that keep it, and they are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "semantics.md").read_text()
PROMISES = dict(re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
NAMED = re.compile(r"`((?:[a-z0-9_-]+/)+(?:[a-z0-9_]+\.(?:py|rs))?)`")
A_TEST = {".py": re.compile(r"^def test_", re.MULTILINE), ".rs": re.compile(r"#\[test\]|^fn main\(", re.MULTILINE)}


def places(text: str) -> list[Path]:
    """Files and folders of tests that are named; those of Python below `tests/`."""
    named = [name for line in text.splitlines() if line.startswith(("- ", "  ")) for name in NAMED.findall(line)]
    return [ROOT / name if name.startswith("relay-ami/") else ROOT / "tests" / name for name in named]


@pytest.mark.parametrize("promise", PROMISES)
def test_promise_names_its_tests(promise: str) -> None:
    assert places(PROMISES[promise])


@pytest.mark.parametrize("place", sorted(set(places(PAGE))), ids=lambda place: str(place.relative_to(ROOT)))
def test_named_test_is_there(place: Path) -> None:
    files = [place] if place.suffix else [file for kind in A_TEST for file in place.rglob(f"*{kind}")]
    assert any(A_TEST[file.suffix].search(file.read_text()) for file in files)


def test_named_target_of_make_is_there() -> None:
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z0-9-]+)`", PAGE)) <= set(targets)
