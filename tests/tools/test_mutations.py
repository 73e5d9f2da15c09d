"""Mutants are small changes that are made exactly where they are said to be."""

import ast
from pathlib import Path

import pytest

from tools.mutants.__main__ import PARTS, draw
from tools.mutants.mutations import mutations

PYTHON = '''"""Doc with 1 < 2 and True."""


def f(a: int, *rest: int) -> bool:
    # a comment: a < 3
    return a - 1 < -2 and not rest
'''
RUST = """/// 7 < 8
fn f(a: Vec<u8>, b: &str) -> bool {
    b == "4 && 5" && a.len() < 3 // 6
}
#[cfg(test)]
mod tests { const A: u8 = 9; }
"""
ASL = '{"States": {"A": {"TimeoutSeconds": 30, "Comment": "40", "Retry": [{"MaxAttempts": 2}]}}}'


@pytest.mark.parametrize(
    ("name", "text", "changes"),
    [
        ("a.py", PYTHON, ["- → +", "1 → 2", "< → <=", "2 → 3", "and → or"]),
        ("a.rs", RUST, ["== → !=", "&& → ||", "< → <=", "3 → 4"]),
        ("a.asl.json", ASL, ["30 → 31", "2 → 3"]),
    ],
)
def test_operators_and_constants_of_code_change_and_nothing_else(
    tmp_path: Path, name: str, text: str, changes: list[str]
) -> None:
    (tmp_path / name).write_text(text)
    found = list(mutations(tmp_path, Path(name)))
    assert [str(one).partition(": ")[2] for one in found] == changes
    for one in found:
        (tmp_path / name).write_text(text)
        one.apply(tmp_path)
        changed = (tmp_path / name).read_text()
        assert changed == text[: one.offset] + one.new + text[one.offset + len(one.old) :]
        if name.endswith(".py"):
            ast.parse(changed)


def test_a_file_that_is_another_by_now_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    (one,) = mutations(tmp_path, Path("a.py"))
    (tmp_path / "a.py").write_text("a = 2\n")
    with pytest.raises(ValueError, match="something else"):
        one.apply(tmp_path)


def test_a_seed_draws_the_same_mutants_of_every_part() -> None:
    assert draw(7, 150) == draw(7, 150) != draw(8, 150)
    assert {name for name, _ in draw(7, 150)} == PARTS.keys()
    assert len(draw(7, 150)) == 150
