"""Rules of starts by objects that the settings have: which are ours, what they start, and how they are switched off."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lambdas.adapters.start_rules import DeployedStart, StartRules

REQUEST = {
    "source": {"kind": "bucket", "bucket": "exports", "prefix": "daily/", "region": "us-west-2"},
    "destination": {"instanceId": "i-0bbbbbbbbbbbbbbb2", "region": "eu-west-1", "path": "/restore"},
}
FUNCTION = "arn:aws:lambda:us-west-2:123456789012:function:cpt-start-from-object"
QUEUE = "arn:aws:sqs:us-west-2:123456789012:cpt-arrivals"
FILLED = '"bucket": <detail-bucket>, "object": <detail-object>'
EACH: dict[str, Any] = {"name": "daily", "bucket": "exports", "prefix": "daily/", "suffix": None, "region": "us-west-2"}


class Events:
    """EventBridge, with rules of two buses; lists come in pages of one."""

    def __init__(self) -> None:
        self.rules: list[dict[str, Any]] = []
        self.targets: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.disabled: list[tuple[str, str]] = []

    def add(self, name: str, pattern: object, target: str, template: str = "{}", bus: str = "default") -> None:
        text = pattern if isinstance(pattern, str) else json.dumps(pattern)
        self.rules.append({"Name": name, "EventPattern": text, "State": "ENABLED", "EventBusName": bus})
        self.targets[name, bus] = [{"Arn": target, "InputTransformer": {"InputTemplate": template}}]

    def get_paginator(self, operation: str) -> "Events":
        assert operation == "list_rules"
        return self

    def paginate(self, **asked: str) -> Iterator[dict[str, Any]]:
        for rule in self.rules:
            if rule["Name"].startswith(asked["NamePrefix"]) and rule["EventBusName"] == asked["EventBusName"]:
                yield {"Rules": [{key: value for key, value in rule.items() if key != "EventBusName"}]}

    def list_targets_by_rule(self, **asked: str) -> dict[str, Any]:
        return {"Targets": self.targets[asked["Rule"], asked["EventBusName"]]}

    def disable_rule(self, **asked: str) -> None:
        self.disabled.append((asked["Name"], asked["EventBusName"]))


def pattern(key: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"source": ["aws.s3"], "detail": {"bucket": {"name": ["exports"]}, "object": {"key": [key]}}, **more}


def each(request: object = REQUEST) -> str:
    return f'{{"detail-type": <detail-type>, "detail": {{{FILLED}, "request": {json.dumps(request)}}}}}'


def collected(seconds: int) -> str:
    start = json.dumps({"name": "daily", "windowSeconds": seconds, "request": REQUEST})
    return f'{{"detail": {{{FILLED}, "start": {start}}}}}'


def rules(events: Events) -> StartRules:
    return StartRules(events, "cpt", "us-west-2")


def test_a_rule_says_where_it_listens_and_what_it_starts() -> None:
    events = Events()
    events.add("cpt-objects-daily", pattern({"prefix": "daily/"}), FUNCTION, each())
    [found] = rules(events).all()
    assert found == DeployedStart(**EACH, window_seconds=None, request=REQUEST)
    assert (found.listening.name, found.listening.bucket, found.listening.prefix) == ("daily", "exports", "daily/")


@pytest.mark.parametrize(
    ("wildcard", "prefix", "suffix"),
    [("daily/*.csv", "daily/", ".csv"), ("daily/*", "daily/", None), ("*.csv", "", ".csv")],
)
def test_both_ends_of_a_key_are_taken_apart(wildcard: str, prefix: str, suffix: str | None) -> None:
    events = Events()
    events.add("cpt-objects-daily", pattern({"wildcard": wildcard}), FUNCTION, each())
    [found] = rules(events).all()
    assert (found.prefix, found.suffix) == (prefix, suffix)


def test_rules_of_other_regions_are_on_the_deployments_bus_and_come_after_those_of_the_home_region() -> None:
    events = Events()
    events.add("cpt-objects-far", pattern({"prefix": "daily/"}, region=["eu-west-1"]), QUEUE, collected(60), "cpt")
    events.add("cpt-objects-near", pattern({"prefix": "daily/"}), QUEUE, collected(10))
    found = list(rules(events).all())
    assert [(one.name, one.region, one.window_seconds) for one in found] == [
        ("near", "us-west-2", 10),
        ("far", "eu-west-1", 60),
    ]
    assert found[0].request == REQUEST


@pytest.mark.parametrize(
    ("given", "target", "template"),
    [
        (pattern({"prefix": "daily/"}), FUNCTION.replace("cpt-", "cpt-objects-"), each()),
        (pattern({"prefix": "daily/"}), FUNCTION, "no JSON"),
        (pattern({"prefix": "daily/"}), FUNCTION, '{"detail": {}}'),
        (pattern({"anything-but": "daily/"}), FUNCTION, each()),
        ({"source": ["aws.ec2"]}, FUNCTION, each()),
        ("no JSON", FUNCTION, each()),
    ],
)
def test_a_rule_of_somebody_else_with_such_a_name_is_none_of_ours(given: object, target: str, template: str) -> None:
    events = Events()
    events.add("cpt-objects-daily", given, target, template)
    assert list(rules(events).all()) == []


def test_a_rule_without_a_target_is_passed_over() -> None:
    events = Events()
    events.add("cpt-objects-daily", pattern({"prefix": "daily/"}), FUNCTION, each())
    events.targets["cpt-objects-daily", "default"] = []
    assert list(rules(events).all()) == []
    assert list(rules(events).enabled()) == []


def test_what_still_starts_something_is_found_on_both_buses_and_switched_off() -> None:
    events = Events()
    close = FUNCTION.replace("start-from-object", "close-window")
    events.add("cpt-objects-daily", pattern({"prefix": "daily/"}), FUNCTION, each())
    events.add("cpt-added-exports", pattern({"prefix": ""}), QUEUE, bus="cpt")
    events.add("cpt-close-window", {"detail-type": ["Window Due"]}, close, bus="cpt")
    events.add("cpt-objects-off", pattern({"prefix": "daily/"}), FUNCTION, each())
    events.rules[-1]["State"] = "DISABLED"
    events.add("cpt-watch-ends", {}, FUNCTION.replace("start-from-object", "watch-ends"))
    of_ours = rules(events)
    found = list(of_ours.enabled())
    assert found == [("cpt-objects-daily", "default"), ("cpt-added-exports", "cpt"), ("cpt-close-window", "cpt")]
    for name, bus in found:
        of_ours.disable(name, bus)
    assert events.disabled == found
