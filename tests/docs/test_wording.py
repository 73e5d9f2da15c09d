"""Words that a stranger can follow: no label of a review, docstrings that say something, help texts with a subject."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.main import app
from tests.docs.pages import ROOT

SOURCES = [file for area in ("lambdas", "cli", "local") for file in sorted((ROOT / area).rglob("*.py"))]
REVIEW = re.compile(r"\b[Tt]he review('s| saw)|\((?:[A-HW]\d{1,2})\)\.?(?:\"|$)")
# A sentence of few words that begins with one of these leans on a subject that stands nowhere.
LEANING = re.compile(r"(All|Both( together| as one)?|For people|Its name|Of all( \w+)?|As the \w+ take them)\.")
WITHOUT_SUBJECT = re.compile(r"(Of|In|Why|Which|Out of|Into|Only|For|What|Whether|How) ")


def docstrings(file: Path) -> Iterator[str]:
    """Return those of a module: its own, of classes and of functions."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield text


def test_no_docstring_leans_on_a_subject_that_stands_nowhere() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {text}" for file in SOURCES for text in docstrings(file) if LEANING.fullmatch(text)
    ]
    assert found == []


@pytest.mark.parametrize("area", ["lambdas", "cli", "local", "tests", "bench", "infra"])
def test_nothing_refers_to_a_review_that_a_reader_cannot_open(area: str) -> None:
    files = [
        file for kind in ("*.py", "*.ts") for file in (ROOT / area).rglob(kind) if "node_modules" not in file.parts
    ]
    assert files
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files
        if file != Path(__file__)
        for line in file.read_text().splitlines()
        if REVIEW.search(line)
    ]
    # The page on readiness is about such findings, and explains its labels.
    assert [line for line in found if not line.startswith("tests/docs/test_readiness.py")] == []


def parameters() -> Iterator[tuple[str, str]]:
    """Each option and argument of each command, and its help."""
    queue: list[tuple[str, Any]] = [("cpt", typer.main.get_command(app))]
    while queue:
        name, command = queue.pop()
        queue += [(f"{name} {inner}", each) for inner, each in getattr(command, "commands", {}).items()]
        for parameter in command.params:
            if text := getattr(parameter, "help", None):
                yield f"{name} {parameter.name}", str(text)


def test_each_help_text_has_a_subject() -> None:
    found = dict(parameters())
    assert len(found) > 40
    assert {name: text for name, text in found.items() if WITHOUT_SUBJECT.match(text)} == {}
