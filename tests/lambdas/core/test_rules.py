from lambdas.core.rules import Rule, to_revoke
from tests.lambdas.builders import transfer


def test_rules_of_ended_transfers_go_and_those_in_use_stay() -> None:
    rules = [
        Rule("g", "ended", "54.9.9.9", "ended"),
        Rule("g", "shared", "54.0.0.1", "ended"),
        Rule("g", "active", "54.8.8.8", "second"),
    ]
    assert [rule.rule_id for rule in to_revoke(rules, [transfer("second")])] == ["ended"]
    assert [rule.rule_id for rule in to_revoke(rules, [])] == ["ended", "shared", "active"]
