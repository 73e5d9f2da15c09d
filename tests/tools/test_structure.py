"""The structure's numbers: what they count, and that one which grows is told."""

from pathlib import Path

import pytest

from tools import structure


def test_number_that_has_grown_is_told_and_one_that_fell_is_not() -> None:
    told = list(structure.changes({"lines": 11, "circles": 2, "later": 5}, {"lines": 10, "circles": 3}))
    assert [line.split(" ")[1:6] for line in told] == [["lines", "was", "10", "and", "is"]]


def test_only_sources_of_the_product_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "lambdas/core/a.py": 'A = Place(1)\nx = request.get("profile") == "measure"\ny = x.is_profiling\n',
        "statemachine/transfer.asl.json": """{"Condition": "{% $transfer.request.profile = 'measure' %}"}\n""",
        "lambdas/operations/b.py": "x = transfer.source.instance_id\nworld.at(x).compute.launch(y)\n",
        "lambdas/core/ends/c.py": "x = request.source.paths\n",
        "tests/lambdas/core/test_a.py": "a = 1\n",
        "relay-ami/relay/src/a_tests.rs": "fn a() {}\n",
        "relay-ami/relay/src/lib.rs": "mod send;\n",
        "relay-ami/relay/src/send/mod.rs": "mod lane;\n\nstruct Shared {}\n",
        "relay-ami/relay/src/send/lane.rs": "use super::Shared;\n\npub struct SharedOut;\n",
        "docs/page.md": "text\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(structure, "ROOT", tmp_path)
    monkeypatch.setattr(structure, "in_circles", lambda _package: [])
    found = structure.measured(sorted(files))
    assert found["product-lines"].value == 14
    assert found["daemon-root-files"].found == ["relay-ami/relay/src/lib.rs"]
    assert found["daemon-shared-structs"].found == ["relay-ami/relay/src/send/mod.rs"]
    assert found["daemon-circles"].found == []
    assert found["questions-whether-it-only-measures"].found == [
        "lambdas/core/a.py",
        "lambdas/core/a.py",
        "statemachine/transfer.asl.json",
    ]
    assert found["files-that-name-ends"].found == ["lambdas/operations/b.py"]
    assert found["places-that-launch-or-end"].found == ["lambdas/operations/b.py"]
    assert found["bare-regions"].found == ["lambdas/core/a.py"]
    assert found["modules-without-a-test"].found == ["lambdas/core/ends/c.py", "lambdas/operations/b.py"]


@pytest.mark.parametrize(
    "text",
    [
        "if row.routes:\n    pass\n",
        "x = a if not estimate.routes else b\n",
        "x = bool(estimate.routes) and y\n",
        "x = row.planned or []\n",
        "x = [use for use in uses if use.by_pairs]\n",
        "x = table.ways is None\n",
    ],
)
def test_condition_on_routes_is_a_fork_but_for_rows_which_give_them(text: str) -> None:
    assert len(list(structure.forks_on_routes("lambdas/core/a.py", text))) > 0
    assert list(structure.forks_on_routes("lambdas/core/estimate/rows.py", text)) == []
    assert list(structure.forks_on_routes("cli/a.py", text)) == []


def test_what_asks_every_route_is_no_fork() -> None:
    text = "x = [use.count for use in estimate.routes if use.count]\n"
    text += "while sum(use.paths for use in row.routes):\n    y()\n"
    assert list(structure.forks_on_routes("lambdas/core/a.py", text)) == []


def test_layers_that_lead_back_are_found_and_those_that_do_not_are_not() -> None:
    # Handlers, operations, adapters and core are layers; adapters and runtime know of each other.
    found = structure.in_circles("lambdas")
    assert not [one for one in found if one.startswith("lambdas.operations") and "lambdas.adapters" in one]
    assert not [one for one in found if one.startswith("lambdas.adapters") and "lambdas.operations" in one]
