from datetime import UTC, datetime
from typing import Any

import pytest

from lambdas.core.pool.month_account import month_of
from lambdas.core.pool.tenant import TenantTerms
from lambdas.core.request.request import Limits, parse_request
from lambdas.core.spending.tenant_ledger import Admission, Asked, TenantLedger, admit
from tests.lambdas.builders import IRELAND, WEST, request

NOW = datetime(2026, 12, 1, 3, tzinfo=UTC).timestamp()
LAST_MONTH = datetime(2026, 11, 30, 23, tzinfo=UTC).timestamp()
LIMITS = Limits((WEST, IRELAND), 64, (), None)


def asked(name: str, terms: dict[str, Any], at: float = NOW, deployment: float | None = None, **document: Any) -> Asked:
    written = {"preTest": False, **document}
    parsed = parse_request(request(**written), LIMITS)
    if parsed.objective.max_cost_usd is None and deployment is not None:
        objective = parsed.objective.model_copy(update={"max_cost_usd": deployment})
        parsed = parsed.model_copy(update={"objective": objective})
    return Asked("acme", TenantTerms.from_document(terms), f"acme-{name}", f"acme-{name}", parsed, at, deployment)


def begun(*all_asked: Asked) -> Admission:
    """The last one's, after the others were admitted."""
    found = Admission(TenantLedger())
    for one in all_asked:
        assert not found.problems
        found = admit(found.ledger, one)
    return found


def test_without_terms_nothing_is_limited_and_what_runs_is_known() -> None:
    found = begun(asked("a", {}), asked("b", {}))
    assert (found.max_cost_usd, found.most_pairs, found.problems) == (None, None, [])
    assert {name: one.usd for name, one in found.ledger.held.items()} == {"acme-a": 0.0, "acme-b": 0.0}


def test_one_transfer_more_than_may_be_active_is_refused_until_one_has_ended() -> None:
    terms = {"activeTransfers": 2}
    two = begun(asked("a", terms), asked("b", terms)).ledger
    [problem] = admit(two, asked("c", terms)).problems
    assert problem == (
        "$: tenant 'acme' has 2 transfers active (acme-a, acme-b), and tenants.acme.activeTransfers is 2; wait until "
        "one has ended, or cancel one"
    )
    assert admit(two, asked("b", terms)).problems == [], "its function may run twice"
    assert admit(two.settled("acme-a", 0.0), asked("c", terms)).problems == []


def test_relays_that_are_asked_for_are_held_and_those_beyond_are_refused() -> None:
    terms = {"relays": 10}
    first = begun(asked("a", terms, relays={"pairs": 3}))
    assert (first.most_pairs, first.ledger.held["acme-a"].relays) == (3, 6)
    [problem] = admit(first.ledger, asked("b", terms, relays={"pairs": 3})).problems
    assert problem == (
        "$.relays.pairs: 3 takes 6 relays at most, and of tenants.acme.relays, 10, 4 are left; give 2 at most, or wait "
        "until another transfer has ended"
    )
    assert admit(first.ledger, asked("b", terms, relays={"pairs": 2})).most_pairs == 2
    assert admit(first.ledger, asked("b", terms, relays={"pairs": 0})).most_pairs == 0


@pytest.mark.parametrize(
    ("document", "pairs", "relays"),
    [
        ({}, 5, 10),
        ({"preTest": "auto"}, 2, 8),  # a pre-test launches twice as many
        ({"relays": {"pairs": {"source": 4, "destination": 3}}}, 4, 7),
        ({"relays": {"through": "auto"}}, 2, 8),  # up to four stand on a path
    ],
)
def test_pairs_are_counted_with_all_relays_that_they_may_take(
    document: dict[str, Any], pairs: int, relays: int
) -> None:
    found = begun(asked("a", {"relays": 10}, **document))
    assert (found.most_pairs, found.ledger.held["acme-a"].relays) == (pairs, relays)


def test_whoever_leaves_the_number_to_us_gets_what_is_left_and_the_next_one_none() -> None:
    terms = {"relays": 10}
    found = begun(asked("a", terms, relays={"pairs": 1}), asked("b", terms), asked("c", terms))
    assert {name: one.relays for name, one in found.ledger.held.items()} == {"acme-a": 2, "acme-b": 8, "acme-c": 0}
    assert found.most_pairs == 0


def test_budgets_are_held_and_what_is_spent_is_counted_in_its_month() -> None:
    terms = {"usdPerMonth": 10}
    first = begun(asked("a", terms, objective={"maxCostUsd": 4}), asked("b", terms, objective={"maxCostUsd": 5}))
    [problem] = admit(first.ledger, asked("c", terms, objective={"maxCostUsd": 2})).problems
    assert problem.startswith("$.objective.maxCostUsd: 2.0 is more than is left: tenants.acme.usdPerMonth is $10")
    assert problem.endswith("give 1.00 at most")
    after = first.ledger.settled("acme-a", 1.5)
    assert (after.spent_usd, admit(after, asked("c", terms, objective={"maxCostUsd": 2})).problems) == (1.5, [])
    assert after.settled("acme-a", 1.5) == after, "a report that is written twice is counted once"


def test_without_a_budget_of_its_own_a_transfer_has_what_is_left() -> None:
    terms = {"usdPerMonth": 10}
    first = begun(asked("a", terms, objective={"maxCostUsd": 4}))
    assert admit(first.ledger, asked("b", terms)).max_cost_usd == 6
    assert admit(first.ledger, asked("b", terms, deployment=20.0)).max_cost_usd == 6, "the deployment's is no wish"
    assert admit(first.ledger, asked("b", terms, deployment=3.0)).max_cost_usd == 3
    all_held = admit(first.ledger, asked("b", terms)).ledger
    [problem] = admit(all_held, asked("c", terms)).problems
    assert problem.startswith("$: tenants.acme.usdPerMonth is $10")
    assert "held for transfers that run; wait for the next month or for their end" in problem


def test_a_month_begins_with_nothing_spent_and_what_began_before_counts_to_its_own() -> None:
    terms = {"usdPerMonth": 10}
    before = begun(asked("a", terms, LAST_MONTH, objective={"maxCostUsd": 8}))
    spent = before.ledger.model_copy(update={"spent_usd": 2.0})
    now = admit(spent, asked("b", terms, objective={"maxCostUsd": 10}))
    assert (now.problems, now.ledger.month, now.ledger.spent_usd) == ([], "2026-12", 0.0)
    assert now.ledger.settled("acme-a", 8.0).spent_usd == 0.0
    assert now.ledger.settled("acme-b", 8.0).spent_usd == 8.0


def test_months_are_of_utc() -> None:
    assert (month_of(LAST_MONTH), month_of(NOW)) == ("2026-11", "2026-12")
