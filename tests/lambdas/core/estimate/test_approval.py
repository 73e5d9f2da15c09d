"""What a person may choose, and how they are asked."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lambdas.core.errors import InvalidApproval
from lambdas.core.estimate.approval import Approval, event_detail, letter, take_row
from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.request.request import TransferRequest
from lambdas.core.words import duration
from tests.lambdas.builders import estimate, figures, request, transfer
from tests.paths import CONTRACTS


def recommending(pairs: int, **more: Any) -> Estimate:
    """Rows for 0 to 3 pairs."""
    return estimate(3, **more).model_copy(update={"chosen_pairs": pairs})


def asked(**changes: Any) -> TransferRequest:
    return TransferRequest.from_document(request(**changes))


def test_chosen_row_takes_the_place_of_the_recommended_one() -> None:
    recommended = recommending(1)
    found = take_row(recommended, 2, asked())
    assert (found.chosen_pairs, found.reason) == (2, "approved by person: 2 pairs")
    assert (found.rows, found.figures) == (recommended.rows, recommended.figures)


@pytest.mark.parametrize(("pairs", "tested"), [(0, False), (1, False), (2, True), (3, True)])
def test_pre_test_is_that_of_the_row_that_was_approved(pairs: int, tested: bool) -> None:
    offered = recommending(1)
    rows = [row.model_copy(update={"pre_test": row.pairs > 1}) for row in offered.rows]
    assert take_row(offered.model_copy(update={"rows": rows}), pairs, asked()).pre_test is tested


def test_row_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidApproval, match=r"\$\.pairs: 40 is not a row .* one of 0, 1, 2, 3$"):
        take_row(recommending(1), 40, asked())


def test_row_above_the_budget_is_refused_with_those_within() -> None:
    rows = recommending(1)
    request = asked(objective={"maxCostUsd": needed(rows.row(2), figures())})
    with pytest.raises(InvalidApproval, match=r"3 pairs cost .* \$\.objective\.maxCostUsd.*; give one of 0, 1, 2,"):
        take_row(rows, 3, request)
    assert take_row(rows, 2, request).chosen_pairs == 2


@pytest.mark.parametrize("answer", [None, [], "3", {}, {"pairs": "3"}, {"pairs": -1}, {"pairs": 1.5}, {"pair": 3}])
def test_answer_of_another_form_is_refused_with_the_right_one(answer: Any) -> None:
    with pytest.raises(InvalidApproval, match=r'of the form \{"pairs": 3\}$'):
        Approval.read(answer)


def test_whole_number_of_a_shell_is_read() -> None:
    assert Approval.read({"pairs": 3.0}).pairs == 3


def test_event_fits_its_contract() -> None:
    schema = json.loads((CONTRACTS / "event.schema.json").read_text())
    detail = event_detail(transfer(approval="required", approvalTimeoutSeconds=600), estimate(2))
    Draft202012Validator(schema).validate({"schemaVersion": 1, "type": "Approval Required", **detail})
    assert (detail["recommendedPairs"], detail["timeoutSeconds"]) == (2, 600)


def test_event_of_rows_with_routes_and_pre_tests_fits_its_contract() -> None:
    schema = json.loads((CONTRACTS / "event.schema.json").read_text())
    found = Estimate.from_document(json.loads((CONTRACTS / "examples/good/estimate/through-a-region.json").read_text()))
    probed = {"pre_test": True, "cost_usd_at_most": 0.2, "probes_usd_at_most": 0.1, "cost_and_time_usd": 0.3}
    rows = [row.model_copy(update=probed) for row in found.rows]
    detail = event_detail(transfer(approval="required"), found.model_copy(update={"rows": rows}))
    Draft202012Validator(schema).validate({"schemaVersion": 1, "type": "Approval Required", **detail})
    assert "through" in detail["rows"][-1]["limit"]


def test_letter_says_which_rows_have_a_pre_test_what_they_are_worth_and_the_notes() -> None:
    rows = [row.weighed(36.0) for row in estimate(2, pre_test=True).rows]
    told = estimate(2).model_copy(update={"rows": rows, "notes": ["prices are AWS's"]})
    _, text = letter(transfer(objective={"valueOfTimeUsdPerHour": 36}), told)
    [line] = [line for line in text.splitlines() if line.startswith(">     2")]
    assert line.endswith("x; with a pre-test")
    assert f"{rows[2].cost_usd + rows[2].seconds / 100:.4f}" in line
    assert "Note: prices are AWS's." in text
    assert "worth at $36 per hour" in text


def test_letter_shows_every_row_and_what_to_do() -> None:
    subject, text = letter(transfer("a" * 80, approvalTimeoutSeconds=5400), estimate(2))
    assert subject.isascii()
    assert len(subject) < 100
    for row in estimate(2).rows:
        [line] = [line for line in text.splitlines() if line.endswith(row.limit) and f" {row.pairs} " in line]
        for known in (row.whole_seconds, row.energy_wh):
            assert ("-" if known is None else f"{known:.1f}") in line.split()
        assert duration(row.seconds) in line
        assert f"{row.cost_usd:.4f}" in line
    assert [line.split()[1] for line in text.splitlines() if line.startswith("> ") and "recommended" not in line] == [
        "2"
    ]
    assert f"cpt approve {'a' * 80}" in text
    assert f"cpt reject {'a' * 80}" in text
    assert "1:30:00" in text


def test_letter_of_a_bucket_counts_relays_and_not_pairs() -> None:
    pairs, route = estimate(2), PairRoute(regions=["us-west-2"])
    relays = pairs.model_copy(update={"figures": pairs.figures.model_copy(update={"pair_route": route})})
    heads = [letter(transfer(), one)[1].splitlines()[2] for one in (pairs, relays)]
    assert [head.split()[0] for head in heads] == ["pairs", "relays"]
    assert len({head.index("time") for head in heads}) == 1
