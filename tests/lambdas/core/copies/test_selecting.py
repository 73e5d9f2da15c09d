"""The rules against git's own judgement, as the daemon's are."""

import random
import re
import subprocess
from pathlib import Path

import pytest

from lambdas.core.copies.listed import Listed
from lambdas.core.copies.selecting import Rules, Selector

DAEMON = Path(__file__).parents[4] / "relay-ami/relay/ends/src/select_tests.rs"
SETS = 300


def of_daemon(name: str) -> list[str]:
    """What the daemon's own test judges."""
    body = DAEMON.read_text().split(f"const {name}: &[&str] = &[", 1)[1].split("];", 1)[0]
    found = re.findall(r'"((?:[^"\\]|\\.)*)"', body)
    return [text.replace("\\t", "\t").replace('\\"', '"').replace("\\\\", "\\") for text in found]


def judged_by_git(tree: Path, rules: list[str], paths: list[str]) -> set[str]:
    (tree / ".git/info/exclude").write_text("".join(f"{rule}\n" for rule in rules))
    told = subprocess.run(
        ["git", "check-ignore", "--stdin", "-z", "--no-index"],
        cwd=tree,
        input="\0".join(paths),
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode in (0, 1), told.stderr
    return set(filter(None, told.stdout.split("\0")))


def test_keys_are_judged_as_git_judges_files(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    paths = [path for path in of_daemon("PATHS") if not path.endswith("/")]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    lines, chance = of_daemon("RULES"), random.Random(7)
    sets = [[line] for line in lines] + [chance.sample(lines, chance.randint(2, 4)) for _ in range(SETS)]
    wrong = []
    for rules in sets:
        ours = {path for path in paths if Rules(rules).leave_out(path)}
        if ours != (git := judged_by_git(tmp_path, rules, paths)):
            wrong.append((rules, ours ^ git))
    assert wrong == []


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ({}, None),
        ({"exclude": ["*.tmp"]}, "excluded"),
        ({"include": ["*.csv"]}, "not-included"),
        ({"include": ["/a/"]}, None),
        ({"include": ["/a/", "!*.tmp"]}, "not-included"),
        ({"minSizeBytes": 11}, "too-small"),
        ({"maxSizeBytes": 9}, "too-large"),
        ({"modifiedFromNs": 100_000_000_001}, "too-old"),
        ({"modifiedUntilNs": 100_000_000_000}, "too-new"),
        ({"modifiedFromNs": 100_000_000_000, "modifiedUntilNs": 100_000_000_001, "maxSizeBytes": 10}, None),
    ],
)
def test_why_a_key_is_left_out(command: dict[str, object], reason: str | None) -> None:
    assert Selector(command).leaves_out(Listed("a/b.tmp", 10, '"e"', 100.0)) == reason
