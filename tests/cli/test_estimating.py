"""`cpt estimate` with figures given: no AWS, no files, and every wrong option named."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from cli.exit_codes import ExitCode
from cli.main import app

CONTRACTS = Path(__file__).parents[2] / "contracts"
GIVEN = ["--size", "8GB", "--vi", "90", "--ve", "15", "--tv", "90"]
PRICES = ["--price-hour", "0.023", "--egress", "0.02"]


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["estimate", *words])


def document(contract: str, *words: str) -> Any:
    found = run(*words, "--json")
    assert found.exit_code == 0, found.output
    answer = json.loads(found.stdout)
    Draft202012Validator(json.loads((CONTRACTS / f"{contract}.schema.json").read_text())).validate(answer)
    return answer


def test_recommendation_is_an_estimate() -> None:
    found = document("estimate", *GIVEN, *PRICES)
    assert [row["pairs"] for row in found["rows"]] == list(range(9))
    assert found["rows"][0]["seconds"] == pytest.approx(8000 / 15, abs=0.001)
    # 90 s on the direct path alone, then all five rates together
    assert found["rows"][4]["seconds"] == pytest.approx(90 + (8000 - 90 * 15) / 75, abs=0.001)
    # Egress, and about a tenth of a cent for the control plane.
    assert found["rows"][0]["costUsd"] == pytest.approx(0.162, abs=0.001)


def test_rows_are_those_asked_for_and_always_the_direct_one() -> None:
    found = document("estimate", *GIVEN, *PRICES, "--pairs", "10..12")
    assert [row["pairs"] for row in found["rows"]] == [0, 10, 11, 12]


def test_ends_and_pairs_may_have_rates_of_their_own() -> None:
    found = document("estimate", *GIVEN, "--ve-pair", "30", "--v-src", "40", "--v-dst", "200", "--pairs", "0..1")
    assert found["rows"][1]["seconds"] == pytest.approx(90 + (8000 - 90 * 15) / 40, abs=0.001)
    assert "source" in found["rows"][1]["limit"]


@pytest.mark.parametrize(
    ("choice", "pairs"),
    [
        (["--minimise", "time"], 5),
        (["--minimise", "cost"], 0),
        (["--value-of-time", "0.1"], 2),
        (["--minimise", "energy"], 0),
        (["--value-of-time", "0"], 0),
        (["--deadline", "240"], 2),
        (["--max-cost", "0.174"], 1),
    ],
)
def test_choice_follows_the_objective(choice: list[str], pairs: int) -> None:
    assert document("estimate", *GIVEN, *PRICES, *choice)["chosenPairs"] == pairs


def test_all_models_stand_beside_each_other() -> None:
    size = ["--size", "10GB", *GIVEN[2:], *PRICES, "--vs", "65"]
    found = document("comparison", *size, "--pairs", "0..8", "--model", "all")
    seconds = {(row["model"], row["pairs"]): row["seconds"] for row in found["rows"]}
    published = {
        ("sequential", 0): 666.67,
        ("basic", 4): 786.58,
        ("pipelined", 2): 752.14,
        ("piped", 8): 395.56,
    }
    assert {key: round(seconds[key], 2) for key in published} == published
    assert ("piped", 0) not in seconds
    assert seconds["zero-wait", 0] == seconds["sequential", 0]


def test_one_model_may_be_asked_for() -> None:
    found = document("comparison", *GIVEN, "--model", "cut-through", "--pairs", "4")
    assert [(row["model"], row["pairs"]) for row in found["rows"]] == [("cut-through", 4)]


def test_tables_mark_the_row_and_say_why_without_colour() -> None:
    chosen = run(*GIVEN, *PRICES).stdout
    assert "▶ 5" in chosen
    assert "p = 5: at $10 per hour, 5 pairs save 6 min 09 s of 8 min 53 s, worth $1.03, for $0.0140 more" in chosen
    compared = run(*GIVEN, "--model", "all").stdout
    assert "▶ zero-wait" in compared


def test_without_prices_it_says_that_no_cost_is_counted() -> None:
    assert "no price was given" in run(*GIVEN).stderr
    assert "no price was given" not in run(*GIVEN, *PRICES).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (GIVEN[2:], "--size (missing): say how much is to be moved"),
        (GIVEN[:4], "--ve (missing): give it, or a request file"),
        (["--size", "0", *GIVEN[2:]], "--size 0: write a size above 0"),
        (["--size", "8XB", *GIVEN[2:]], "--size 8XB: write a size above 0"),
        ([*GIVEN, "--files", "9"], "--files 9: what figures say of the ends holds for files of any size"),
        ([*GIVEN, "--ve", "0"], "--ve 0: write MB/s above 0, e.g. 90"),
        ([*GIVEN, "--vi", "-3"], "--vi -3: write MB/s above 0, e.g. 90"),
        ([*GIVEN, "--vi", "abc"], "--vi abc: write MB/s above 0, e.g. 90"),
        ([*GIVEN, "--tv", "soon"], "--tv soon: write seconds, 0 or more, e.g. 60"),
        ([*GIVEN, "--egress", "2c"], "--egress 2c: write dollars, 0 or more, e.g. 0.02"),
        ([*GIVEN, *PRICES, "--max-cost", "five"], "--max-cost five: write dollars above 0, e.g. 5"),
        ([*GIVEN, "--v-dst", "inf"], "--v-dst inf: write MB/s above 0"),
        ([*GIVEN, "--tv", "-1"], "--tv -1: write seconds, 0 or more, e.g. 60"),
        ([*GIVEN, "--price-hour", "nan"], "--price-hour nan: write dollars, 0 or more, e.g. 0.02"),
        ([*GIVEN, "--pairs", "8..0"], "--pairs 8..0: write a number of pairs or a range"),
        ([*GIVEN, "--model", "warp"], "--model warp: write all, or one of sequential"),
        ([*GIVEN, "--model", "piped", "--pairs", "0"], "--pairs 0: the model piped is one of relays"),
        ([*GIVEN, "--model", "all", "--deadline", "60"], "--deadline 60: --model compares and chooses nothing"),
        ([*GIVEN, "--minimise", "fuel"], "--minimise fuel: write one of time, cost, energy, balanced"),
        ([*GIVEN, "--minimise", "time", "--deadline", "60"], "--minimise time: with a deadline the cheapest row"),
        ([*GIVEN, "--minimise", "time", "--value-of-time", "3"], "--minimise time: a value of time is what 'balanced'"),
        ([*GIVEN, "--deadline", "60", "--value-of-time", "3"], "--value-of-time 3: with a deadline the cheapest row"),
        ([*GIVEN, "--value-of-time", "much"], "--value-of-time much: write dollars, 0 or more, e.g. 10"),
        ([*GIVEN, "--deadline", "2020-01-01T00:00Z"], "--deadline 2020-01-01T00:00Z: it is past"),
        ([*GIVEN, *PRICES, "--max-cost", "0"], "--max-cost 0: write dollars above 0, e.g. 5"),
        ([*GIVEN, "--max-cost", "1"], "--price-hour (missing): give it, and --egress"),
        ([*GIVEN, "--minimise", "cost"], "--price-hour (missing): give it, and --egress"),
    ],
)
def test_wrong_option_is_named_with_what_is_right(words: list[str], message: str) -> None:
    found = run(*words)
    assert (found.exit_code, found.stdout) == (ExitCode.USAGE, "")
    assert f"cpt: {message}" in found.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--deadline", "100"], "DeadlineUnreachable: --deadline: 100 cannot be met; the best is"),
        (["--max-cost", "0.001"], "BudgetTooSmall: --max-cost: 0.001 is less than the cheapest choice"),
    ],
)
def test_objective_that_no_row_meets_has_the_exit_code_of_a_request(words: list[str], message: str) -> None:
    found = run(*GIVEN, *PRICES, *words)
    assert found.exit_code == ExitCode.REQUEST
    assert message in found.stderr


def test_figures_cannot_stand_beside_a_request(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text("{}")
    found = run(str(tmp_path / "request.json"), "--size", "8GB", "--vi", "90")
    assert found.exit_code == ExitCode.USAGE
    assert "--vi 90: cannot stand beside" in found.stderr


def test_request_without_a_size_says_that_nothing_is_scanned(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text("{}")
    found = run(str(tmp_path / "request.json"))
    assert found.exit_code == ExitCode.USAGE
    assert "--size (missing)" in found.stderr
    assert "nothing is scanned" in found.stderr


def test_a_pre_test_that_would_change_nothing_is_refused() -> None:
    found = run(*GIVEN, *PRICES, "--pre-test", "60")
    assert found.exit_code == 2
    assert "--pre-test" in found.output
    assert "--model pre-tested" in found.output


def test_a_size_without_a_unit_is_said_to_be_bytes() -> None:
    figures = ["--vi", "90", "--ve", "15", "--tv", "90"]
    found = CliRunner().invoke(app, ["estimate", "--size", "8", *figures])
    assert "--size 8: taken as bytes, since it has no unit; for gigabytes write 8GB" in found.stderr
    assert "taken as bytes" not in CliRunner().invoke(app, ["estimate", "--size", "8GB", *figures]).stderr
