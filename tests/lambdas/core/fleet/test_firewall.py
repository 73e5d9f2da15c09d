from lambdas.core.fleet.firewall import Rule, shared, to_revoke
from tests.lambdas.builders import transfer


def test_rules_of_ended_transfers_go_and_those_in_use_stay() -> None:
    rules = [
        Rule("g", "ended", "54.9.9.9", 4600, "ended"),
        Rule("g", "shared", "54.0.0.1", 4600, "ended"),
        Rule("g", "active", "54.8.8.8", 4600, "second"),
    ]
    assert [rule.rule_id for rule in to_revoke(rules, [transfer("second")])] == ["ended"]
    assert [rule.rule_id for rule in to_revoke(rules, [])] == ["ended", "shared", "active"]


def test_way_to_the_receiver_of_an_ended_transfer_goes_though_its_source_sends_elsewhere() -> None:
    rules = [Rule("g", "relays", "54.0.0.1", 4600, "ended"), Rule("g", "receiver", "54.0.0.1", 4602, "ended")]
    other = transfer("second").model_copy(update={"receiver_port": 4601})
    assert [rule.rule_id for rule in to_revoke(rules, [other])] == ["receiver"]
    assert [rule.rule_id for rule in shared(rules, other)] == ["relays"]
