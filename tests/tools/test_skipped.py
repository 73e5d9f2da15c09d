"""What was not tried is told once for each reason."""

from pathlib import Path

import pytest

from tools import skipped

LINES = [
    "all::first\tno rsync",
    "tests/test_b.py::b\tonly root mounts",
    "all::first\tno rsync",
    "x\twith make chaos",
    "y",
]


def test_each_reason_is_told_once_with_the_tests_that_gave_it() -> None:
    found = skipped.by_reason([*LINES, "c\tonly root mounts", "a\tonly root mounts"])
    assert found == {"no rsync": ["all::first"], "only root mounts": ["a", "c", "tests/test_b.py::b"]}
    assert skipped.in_words(found)[1:] == ["  no rsync: all::first", "  only root mounts: a, c and 1 more"]


@pytest.mark.parametrize(
    ("user", "wish", "lines", "code"),
    [(0, "refuse", LINES, 1), (0, "", LINES, 0), (1000, "refuse", LINES, 0), (0, "refuse", ["x\twith make chaos"], 0)],
)
def test_only_root_is_refused_and_only_where_that_is_wished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, wish: str, lines: list[str], code: int
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    monkeypatch.setenv("CPT_SKIPS", wish)
    listed = tmp_path / "skipped"
    listed.write_text("\n".join(lines))
    assert skipped.main(listed) == code


def test_where_nothing_was_noted_nothing_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert skipped.main(tmp_path / "absent") == 0
    assert capsys.readouterr().out == "nothing was left out for want of something\n"
