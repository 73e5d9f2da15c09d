"""What the pages say of the project's own code, files and limits is so today."""

import ast
import json
import re
from collections.abc import Iterator
from datetime import date
from importlib import resources
from pathlib import Path

import pytest

from lambdas.core.chunks.retry_policy import MAX_ATTEMPTS, MAX_SOURCE_ATTEMPTS
from lambdas.core.documents import MAX_TRANSIT_REGIONS
from lambdas.core.estimate.fitting import MOST_BYTES, MOST_CANDIDATES
from lambdas.core.request.deletion import MOST_DELETED
from lambdas.core.request.machine_rules import MOST_TOGETHER
from lambdas.core.request.relays_request import MAX_REQUEST_PAIRS
from lambdas.core.seats.liveness import MOST_RESTARTS
from tests.docs.pages import ROOT

DOCS = ROOT / "docs"
ARCHITECTURE = (DOCS / "architecture.md").read_text()
DAEMON = ROOT / "relay-ami" / "dist" / "x86_64" / "cpt-relay"
RUNTIME_PAGES = ("deploy.md", "aws-readiness.md", "design/002-runtime-and-packaging.md")
LIFECYCLE = resources.files("cfnlint") / "data/AdditionalSpecs/LmbdRuntimeLifecycle.json"

# What a page says of other tools' use beside this one or of its own abilities, and the test that fails if it is not so.
CLAIMS = {
    ("out-of-scope.md", "compares blocks at their own places"): (
        "relay-ami/relay/tests/all/changed_parts.rs::of_an_edit_in_place_only_its_blocks_are_sent"
    ),
    ("out-of-scope.md", "peering passes all that both machines have"): (
        "tests/lambdas/core/estimate/test_alternatives.py::test_peering_passes_what_both_machines_have_and_costs_no_relays"
    ),
    ("out-of-scope.md", "the estimate chooses 0 pairs"): (
        "tests/lambdas/core/estimate/test_offers.py::test_ends_that_one_cap_holds_for_all_traffic_need_no_relays"
    ),
    ("comparison.md", "CPT compares blocks at their own places"): (
        "relay-ami/relay/tests/all/changed_parts.rs::of_an_edit_in_place_only_its_blocks_are_sent"
    ),
    ("comparison.md", "CPT has routes through a third region"): (
        "tests/lambdas/operations/estimate/test_routing.py"
        "::test_data_takes_the_way_through_a_third_region_where_that_is_wider"
    ),
    ("comparison.md", "CPT resumes inside a file too"): (
        "tests/e2e/test_again.py::test_stopped_within_a_large_file_and_resumed_it_goes_on_inside"
    ),
}
# Rows of docs/limits.md, as the code's own numbers make them.
LIMITS = (
    f"| third regions of a transfer | {MAX_TRANSIT_REGIONS}; ",
    f"| relay pairs | {MAX_REQUEST_PAIRS} in a request",
    f"| machines of both ends together | {MOST_TOGETHER} |",
    f"| attempts per chunk | {MAX_ATTEMPTS}; {MAX_SOURCE_ATTEMPTS} if the source is at fault |",
    f"| size of an estimate | {MOST_BYTES // 1024} KB in record and state | the best {MOST_CANDIDATES} types",
    f"| what `delete` removes | {MOST_DELETED:_} entries unless `maxDelete`".replace("_", " "),
    f"| restarts of an end by `cpt-restart-end` | {MOST_RESTARTS}, then `EndSilent`",
)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim[0]}: {claim[1]}")
def test_claim_is_on_its_page_and_its_test_is_there(claim: tuple[str, str]) -> None:
    page, words = claim
    assert words in " ".join((DOCS / page).read_text().split())
    file, _, name = CLAIMS[claim].partition("::")
    assert re.search(rf"^(def|fn) {name}\(", (ROOT / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("row", LIMITS)
def test_limit_is_that_of_the_code(row: str) -> None:
    assert row in (DOCS / "limits.md").read_text()


@pytest.mark.parametrize("page", RUNTIME_PAGES)
def test_end_of_the_runtime_is_the_one_that_is_published(page: str) -> None:
    end = date.fromisoformat(json.loads(LIFECYCLE.read_text())["python3.13"]["deprecated"])
    said = re.findall(
        r"(?:3\.13|It), supported until (\w+ 20\d\d)|supports (?:it )?until (\w+ 20\d\d)", (DOCS / page).read_text()
    )
    assert {"".join(words) for words in said} == {f"{end:%B %Y}"}


def test_size_of_the_daemon_is_that_of_the_built_file() -> None:
    said = re.findall(r"fetches the daemon when it starts \((\d+) MB", (DOCS / "deploy.md").read_text())
    assert len(said) == 1
    assert int(said[0]) == pytest.approx(DAEMON.stat().st_size / 1e6, rel=0.1)


def changes() -> list[tuple[str, int, list[str]]]:
    """Each kind of change, how many files it is said to touch, and those that it names."""
    table = ARCHITECTURE.partition("## What a change touches")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| (.+) \|$", table, re.MULTILINE)
    return [(kind, int(count), re.findall(r"`([^`]+)`", which)) for kind, count, which in rows]


@pytest.mark.parametrize(("kind", "count", "named"), changes(), ids=lambda value: str(value)[:30])
def test_change_touches_as_many_files_as_its_row_names_and_those_exist(kind: str, count: int, named: list[str]) -> None:
    assert count == len(named), kind
    assert [name for name in named if not any(existing(name))] == []


def existing(name: str) -> Iterator[Path]:
    """Files that the row may mean: contracts by their name, the core's and the daemon's by their path."""
    pattern = name.replace("KIND.py", "*.py").replace("ends-KIND/", "ends-posix").replace("NAME.py", "*.py")
    for area in ("contracts", ".", "lambdas", "relay-ami/relay/src", "relay-ami/relay"):
        yield from (ROOT / area).glob(f"{pattern}.schema.json" if area == "contracts" else pattern)


def test_the_command_line_imports_of_the_functions_what_its_row_says() -> None:
    row = next(line for line in ARCHITECTURE.splitlines() if line.startswith("| `cli` |"))
    allowed = set(re.findall(r"`?\b(core|adapters|operations|handlers|runtime)\b`?", row))
    imported = {
        name.split(".")[1]
        for file in (ROOT / "cli").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and (name := node.module or "").startswith("lambdas.")
    }
    assert imported == allowed


@pytest.mark.parametrize("layer", ["core", "operations", "handlers"])
def test_tests_of_the_functions_mirror_their_tree(layer: str) -> None:
    tests = ROOT / "tests" / "lambdas" / layer
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert [folder for folder in folders if not (ROOT / "lambdas" / layer / folder).is_dir()] == []
    assert len(folders) > 2
