"""The first hour: the page's commands in a terminal of 80 columns, on a local cloud that runs already."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.docs.pages import ROOT, blocks
from tests.docs.terminal import screen
from tests.e2e.account import Account
from tests.e2e.files import make_files, tree

PAGE = ROOT / "docs" / "first-hour.md"
PREFIX = ".venv/bin/"
# Done for the account, or at its end for all.
DONE = ("export PATH=", "make synth", "cpt local up", "cpt local down")
# Ctrl-C is pressed where the page says that the watching has ended.
INTERRUPTED, INTERRUPTED_AT = "no longer watched", "or cpt reject"


def five_commands() -> list[str]:
    """The README's, from the checkout to a copy of one's own data."""
    section = (ROOT / "README.md").read_text().split("## Your own data, in five commands", 1)[1]
    return re.split(r"```\w*\n", section, maxsplit=2)[1].splitlines()


def recorded() -> Iterator[tuple[str, str]]:
    """The page's commands, and what it says that each has left on the screen."""
    for block in blocks(PAGE):
        for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            yield command, shown


def without_figures(text: str) -> str:
    """What differs between runs becomes `#`: figures with units, and identities; where lines break does not count."""
    text = re.sub(r"\bi-[0-9a-f]{17}\b", "i-#", text)
    text = re.sub(r"\s+", "", re.sub(r"\d[\d.,:-]*\s*(B|kB|MB|GB|ms|s|min)?\b", "#", text))
    return re.sub("#+", "#", text)  # 59 s, or 1 min 5 s


def pattern(shown: str) -> str:
    """What a screen must be for the page to be true of it: `…` is anything."""
    return ".*".join(re.escape(without_figures(part)) for part in re.split(r"^…$", shown, flags=re.MULTILINE))


def test_the_page_has_the_five_commands_of_the_readme() -> None:
    commands = [command for command, _ in recorded()]
    assert [command for command in five_commands() if command.removeprefix(PREFIX) not in commands] == []
    assert len(five_commands()) == 5


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory with a name so short that no line of a terminal breaks it."""
    with TemporaryDirectory(prefix="you-", dir="/tmp") as folder:
        yield Path(folder)


def test_the_first_hour_is_as_the_page_tells_it(make_account: Callable[..., Account], home: Path) -> None:
    # In the account that other tests have, lists and what is learnt are longer.
    account = make_account()
    for name, target in ((".local", account.cloud.state.root), ("cdk.json", ROOT / "cdk.json")):
        (home / name).symlink_to(target)
    source, copy = make_files(home / "docs", large_bytes=1000), home / "copy"
    environment = {"PATH": f"{ROOT / PREFIX}:{os.environ['PATH']}"}
    for command, shown in recorded():
        if command.startswith(DONE):
            continue
        ours = command.replace("/tmp/cpt-copy", str(copy))
        found = screen(ours, home, environment, INTERRUPTED_AT if INTERRUPTED in shown else "")
        told = found.replace(str(copy), "/tmp/cpt-copy").replace(str(home), "/home/you/cpt")
        assert re.fullmatch(pattern(shown), without_figures(told)), f"$ {command}\n{found}"
    assert tree(copy / "docs") == tree(source)
