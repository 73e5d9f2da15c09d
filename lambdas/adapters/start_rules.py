"""EventBridge's rules of starts by objects that the settings have."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lambdas.core.intake.added_starts import Listening, written_by

_PLACEHOLDER = re.compile(r"<[^<>]*>")


@dataclass(frozen=True)
class DeployedStart:
    """A start as its rule has it; `window_seconds` is None where each object starts a transfer of its own."""

    name: str
    bucket: str
    prefix: str
    suffix: str | None
    region: str
    window_seconds: int | None
    request: dict[str, Any]

    @property
    def listening(self) -> Listening:
        """Where it listens and writes."""
        return Listening(self.name, self.bucket, self.prefix, written_by(self.request))


class StartRules:
    """Rules over EventBridge; names are those of infra/lib/names.ts."""

    def __init__(self, client: Any, deployment: str, region: str) -> None:
        self._client, self._bus, self._region = client, deployment, region
        self._prefix = f"{deployment}-objects-"
        self._starting = {f"{deployment}-arrivals", f"{deployment}-start-from-object", f"{deployment}-close-window"}

    def all(self) -> Iterator[DeployedStart]:
        """Those of the home region, then those of others, which listen on the deployment's bus."""
        for rule, targets in self._ours(self._prefix):
            if found := self._read(rule, targets):
                yield found

    def enabled(self) -> Iterator[tuple[str, str]]:
        """Name and bus of each rule that tells of objects, also for what people have added, or of windows that end."""
        for beginning in (self._prefix, f"{self._bus}-added-", f"{self._bus}-close-window"):
            for rule, _ in self._ours(beginning):
                if rule["State"] == "ENABLED":
                    yield rule["Name"], rule["EventBusName"]

    def disable(self, name: str, bus: str) -> None:
        """It hears nothing any more."""
        self._client.disable_rule(Name=name, EventBusName=bus)

    def _ours(self, beginning: str) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Rules with their targets; the names of another deployment's may begin like ours."""
        for bus in ("default", self._bus):
            pages = self._client.get_paginator("list_rules").paginate(NamePrefix=beginning, EventBusName=bus)
            for rule in (rule for page in pages for rule in page["Rules"]):
                targets = self._client.list_targets_by_rule(Rule=rule["Name"], EventBusName=bus)["Targets"]
                if targets and targets[0]["Arn"].rpartition(":")[2] in self._starting:
                    yield {**rule, "EventBusName": bus}, targets

    def _read(self, rule: dict[str, Any], targets: list[dict[str, Any]]) -> DeployedStart | None:
        """None of a rule that somebody else has given such a name."""
        try:
            pattern = json.loads(rule["EventPattern"])
            [key] = pattern["detail"]["object"]["key"]
            [bucket] = pattern["detail"]["bucket"]["name"]
            # No template has such a sign: what stands between two of them EventBridge fills in.
            detail = json.loads(_PLACEHOLDER.sub("null", targets[0]["InputTransformer"]["InputTemplate"]))["detail"]
            start = detail.get("start", detail)
            prefix, _, suffix = key["wildcard"].partition("*") if "wildcard" in key else (key["prefix"], "", "")
            return DeployedStart(
                name=rule["Name"].removeprefix(self._prefix),
                bucket=bucket,
                prefix=prefix,
                suffix=suffix or None,
                region=pattern.get("region", [self._region])[0],
                window_seconds=start.get("windowSeconds"),
                request=start["request"],
            )
        except (ValueError, KeyError, TypeError, IndexError):
            return None
