"""Each attacker of docs/threats.md has tests, and those are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threats.md").read_text()
ATTACKERS = {
    title: re.findall(r"^- `([^`]+\.(?:py|rs))::(\w+)`$", text, re.MULTILINE)
    for title, text in re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    if title != "What is left"
}


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_attacker_has_tests(attacker: str) -> None:
    assert ATTACKERS[attacker]


@pytest.mark.parametrize(("file", "name"), sorted({one for named in ATTACKERS.values() for one in named}))
def test_named_test_is_there(file: str, name: str) -> None:
    if file.endswith(".rs"):
        assert re.search(rf"#\[test\]\nfn {name}\(", (ROOT / file).read_text())
    else:
        assert name.startswith("test_")
        assert re.search(rf"^def {name}\(", (ROOT / "tests" / file).read_text(), re.MULTILINE)
