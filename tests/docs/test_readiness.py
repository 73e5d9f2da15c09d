"""docs/aws-readiness.md has a row for each finding of the review that it answers, and names tests that exist."""

import re

import pytest

from tests.docs.pages import ROOT

FINDINGS = [
    f"{part}{number}" for part, count in (("A", 3), ("B", 9), ("C", 10), ("D", 8)) for number in range(1, count + 1)
]
TABLE = (ROOT / "docs" / "aws-readiness.md").read_text().partition("\n## ")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TABLE.splitlines() if line.startswith("|")][
    2:
]


def test_each_finding_has_a_row() -> None:
    labels = {label.strip() for label, *_ in ROWS for label in label.split(",")}
    assert sorted(set(FINDINGS) - labels) == []
    assert labels - set(FINDINGS) <= {"–"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1][:40])
def test_each_row_names_tests_that_exist(row: list[str]) -> None:
    assert len(row) == 4
    named = re.findall(r"`([\w./-]+\.(?:py|ts|rs))`", row[3])
    assert named
    assert [name for name in named if not ((ROOT / "tests" / name).exists() or (ROOT / name).exists())] == []
