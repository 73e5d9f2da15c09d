"""What the APIs answered, without anything of the account: to attach to an issue, and to hold the emulator against.

A string stays only where botocore's model lists the values that it may have; every other is a placeholder of its kind,
the same one for the same string. So nothing slips through that nobody has thought of.
"""

import json
import re
import statistics
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import botocore
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

SCHEMA_VERSION = 1
MOST_ITEMS = 3
_KINDS = {
    "arn": r"arn:aws[a-z-]*:.*",
    "account": r"\d{12}",
    "address": r"\d{1,3}(\.\d{1,3}){3}(/\d+)?|[0-9a-f:]*::[0-9a-f:/]*|([0-9a-f]{2}:){5}[0-9a-f]{2}",
    "uuid": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "key": r"(AKIA|ASIA|AROA|AIDA)[A-Z0-9]+(:.*)?",
    "region": r"[a-z]{2,4}(-[a-z]+)+-\d[a-z]?",
    "id": r"[a-z]+(-[a-z]+)?-[0-9a-f]{8,17}",
    "host": r"([a-z0-9-]+\.)+[a-z]{2,}",
}


@dataclass
class Entry:
    """Calls that were alike: the last answer counts, since polling ends with what was waited for."""

    operation: str
    request: Any
    response: Any = None
    error: str | None = None
    seconds: list[float] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """As it is written."""
        answer = {"response": self.response} if self.error is None else {"error": self.error}
        times = {"least": min(self.seconds), "median": statistics.median(self.seconds), "most": max(self.seconds)}
        rounded = {name: round(value, 3) for name, value in times.items()}
        return {
            "operation": self.operation,
            "request": self.request,
            **answer,
            "calls": len(self.seconds),
            "seconds": rounded,
        }


class Recorder:
    """Listens to all clients of a session that are made after `attach`."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, ...], Entry] = {}
        self._names: dict[str, dict[str, str]] = {}
        self.timings: dict[str, Any] = {}

    def attach(self, events: Any) -> None:
        """`events`: of a boto3 session."""
        events.register("provide-client-params", self._asked)
        events.register("after-call", self._answered)

    def save(self, path: Path, cloud: str, commit: str) -> None:
        """Write everything so far."""
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "schemaVersion": SCHEMA_VERSION,
            "cloud": cloud,
            "recordedAt": datetime.now(UTC).date().isoformat(),
            "commit": commit,
            "botocore": botocore.__version__,
            "timings": self.timings,
            "accepted": {},
            "calls": [self._entries[key].document() for key in sorted(self._entries)],
        }
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    def _asked(self, params: dict[str, Any], model: OperationModel, context: dict[str, Any], **_: Any) -> None:
        context["cpt_asked"] = (time.monotonic(), self.clean(params, model.input_shape))

    def _answered(
        self, http_response: Any, parsed: dict[str, Any], model: OperationModel, context: dict[str, Any], **_: Any
    ) -> None:
        began, request = context["cpt_asked"]
        error = parsed["Error"]["Code"] if http_response.status_code >= 300 else None
        operation = f"{model.service_model.service_name}.{model.name}"
        key = (operation, *sorted(request), error or "")
        entry = self._entries.setdefault(key, Entry(operation, request, error=error))
        entry.seconds.append(time.monotonic() - began)
        if error is None:
            known = {name: value for name, value in parsed.items() if name != "ResponseMetadata"}
            entry.request, entry.response = request, self.clean(known, model.output_shape)

    def clean(self, value: Any, shape: Shape | None) -> Any:
        """A value of a shape without anything that names somebody or something."""
        if shape is None:
            return {}
        if shape.metadata.get("sensitive"):
            return "<secret>"
        if isinstance(shape, StructureShape):
            return {name: self.clean(one, shape.members[name]) for name, one in value.items() if name in shape.members}
        if isinstance(shape, ListShape):
            return [self.clean(one, shape.member) for one in value[:MOST_ITEMS]]
        if isinstance(shape, MapShape):
            pairs = list(value.items())[:MOST_ITEMS]
            return {self.clean(name, shape.key): self.clean(one, shape.value) for name, one in pairs}
        if shape.type_name == "timestamp":
            return "<time>"
        if shape.type_name == "blob":
            return "<bytes>"
        if shape.type_name != "string":
            return value  # a number, or yes or no
        if not isinstance(value, str):
            return "<document>"  # botocore has read the policy that the string is
        return value if value in getattr(shape, "enum", ()) else self._placeholder(value)

    def _placeholder(self, text: str) -> str:
        kind = next((kind for kind, pattern in _KINDS.items() if re.fullmatch(pattern, text)), "text")
        known = self._names.setdefault(kind, {})
        return known.setdefault(text, f"<{kind}:{len(known) + 1}>")
