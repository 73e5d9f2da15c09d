"""Command documents of our own.

AWS: CreateDocument takes schema 2.2 with parameters (allowedPattern, allowedValues, default, interpolationType) and
plugins; SendCommand checks the values.
Emulator: has no documents and runs AWS-RunShellScript only.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local.patches.upstream import account_id, scoped_dict

SHELL = "aws:runShellScript"
DEFAULT_SECONDS = 3600  # AWS's default executionTimeout


class DocumentError(Exception):
    """A document or its parameters are not valid; `code` is the AWS error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Script:
    """A script for an instance, its variables, and its seconds."""

    text: str
    environment: dict[str, str]
    timeout: float


RUN_SHELL_SCRIPT = {
    "schemaVersion": "2.2",
    "parameters": {
        "commands": {"type": "StringList"},
        "workingDirectory": {"type": "String", "default": ""},
        "executionTimeout": {"type": "String", "default": "3600"},
    },
    "mainSteps": [
        {
            "action": SHELL,
            "name": "run",
            "inputs": {"runCommand": "{{ commands }}", "timeoutSeconds": "{{ executionTimeout }}"},
        }
    ],
}

documents = scoped_dict()


def create(data: dict[str, Any]) -> dict[str, Any]:
    """CreateDocument; raises DocumentError."""
    name = data["Name"]
    if name in documents:
        raise DocumentError("DocumentAlreadyExists", f"Document with same name {name} already exists")
    content = parse(data["Content"])
    documents[name] = {
        "Content": content,
        "Text": data["Content"] if isinstance(data["Content"], str) else json.dumps(content),
        "DocumentType": data.get("DocumentType", "Command"),
        "CreatedDate": time.time(),
        "Tags": data.get("Tags", []),
        "Version": 1,
    }
    return describe(name)


def update(data: dict[str, Any]) -> dict[str, Any]:
    """UpdateDocument: the new content is the default at once (AWS: by UpdateDocumentDefaultVersion)."""
    found = find(data["Name"])
    found["Content"] = parse(data["Content"])
    found["Text"] = data["Content"] if isinstance(data["Content"], str) else json.dumps(found["Content"])
    found["Version"] += 1
    return describe(data["Name"])


def parse(content: Any) -> dict[str, Any]:
    """Content of a document, checked; raises DocumentError."""
    try:
        parsed = json.loads(content) if isinstance(content, str) else content
    except json.JSONDecodeError as error:
        raise DocumentError("InvalidDocumentContent", f"JSON not well-formed: {error}") from error
    if parsed.get("schemaVersion") != "2.2":
        version = parsed.get("schemaVersion")
        raise DocumentError("InvalidDocumentSchemaVersion", f"schemaVersion {version!r}: the local cloud runs 2.2")
    for step in parsed.get("mainSteps") or []:
        if step.get("action") != SHELL:
            raise DocumentError("InvalidDocumentContent", f"action {step.get('action')!r}: only {SHELL} runs here")
    if not parsed.get("mainSteps"):
        raise DocumentError("InvalidDocumentContent", "mainSteps is empty")
    return dict(parsed)


def find(name: str) -> dict[str, Any]:
    """The stored document; `name` may be an ARN. Raises DocumentError."""
    name = name.rsplit("/", 1)[-1] if name.startswith("arn:") else name
    if name == "AWS-RunShellScript":
        return {"Content": RUN_SHELL_SCRIPT, "Version": 1, "DocumentType": "Command", "Text": "", "CreatedDate": 0}
    found = documents.get(name)
    if found is None:
        raise DocumentError("InvalidDocument", f"Document with name {name} does not exist.")
    return found  # type: ignore[no-any-return] # the stored document itself, which an update changes


def describe(name: str) -> dict[str, Any]:
    """The DocumentDescription of a document."""
    found = find(name)
    return {
        "Name": name,
        "Hash": hashlib.sha256(found["Text"].encode()).hexdigest(),
        "HashType": "Sha256",
        "DocumentVersion": str(found["Version"]),
        "LatestVersion": str(found["Version"]),
        "DefaultVersion": str(found["Version"]),
        "DocumentType": found["DocumentType"],
        "SchemaVersion": found["Content"]["schemaVersion"],
        "DocumentFormat": "JSON",
        "Status": "Active",
        "Owner": account_id(),
        "CreatedDate": found["CreatedDate"],
        "PlatformTypes": ["Linux"],
        "Tags": found.get("Tags", []),
    }


def script_of(content: dict[str, Any], given: dict[str, list[str]]) -> Script:
    """The script that `content` means with these parameter values; raises DocumentError (InvalidParameters).

    `{{ name }}` is replaced in the text; with interpolationType ENV_VAR the value arrives as variable SSM_name and its
    placeholder becomes a reference to that, so that it cannot be read as shell code.
    """
    declared = content.get("parameters") or {}
    for name in given:
        if name not in declared:
            raise DocumentError("InvalidParameters", f"Parameter {name} is not defined in the document")
    values = {name: _value(name, declared[name], given.get(name)) for name in declared}
    environment = {
        f"SSM_{name}": _text(value)
        for name, value in values.items()
        if declared[name].get("interpolationType") == "ENV_VAR"
    }
    lines: list[str] = []
    timeout: float = DEFAULT_SECONDS
    for step in content["mainSteps"]:
        inputs = step["inputs"]
        command = inputs["runCommand"]
        whole = re.fullmatch(r"\{\{\s*(\w+)\s*\}\}", command) if isinstance(command, str) else None
        parts = values[whole.group(1)] if whole else command
        several = [parts] if isinstance(parts, str) else parts
        lines.extend(part if whole else _substitute(part, values, environment) for part in several)
        seconds = inputs.get("timeoutSeconds")
        if seconds is not None:
            timeout = float(_substitute(str(seconds), values, {}))
    return Script("\n".join(lines), environment, timeout)


def _value(name: str, declared: dict[str, Any], given: Any) -> Any:
    if given is None:
        if "default" not in declared:
            raise DocumentError("InvalidParameters", f"Parameter {name} is required and has no value")
        given = declared["default"]
    items = [str(item) for item in (given if isinstance(given, list) else [given])]
    pattern = declared.get("allowedPattern")
    for item in items:
        if pattern and not re.search(pattern, item):
            raise DocumentError(
                "InvalidParameters", f"Parameter {name}: value {item[:200]!r} does not match the pattern {pattern}"
            )
        if declared.get("allowedValues") and item not in [str(value) for value in declared["allowedValues"]]:
            raise DocumentError(
                "InvalidParameters", f"Parameter {name}: value {item[:200]!r} is not one of {declared['allowedValues']}"
            )
    if declared.get("type") == "StringList":
        return items
    if len(items) != 1:
        raise DocumentError("InvalidParameters", f"Parameter {name} takes one value, not {len(items)}")
    return items[0]


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, list) else str(value)


def _substitute(text: str, values: dict[str, Any], environment: dict[str, str]) -> str:
    for name, value in values.items():
        replacement = f"$SSM_{name}" if f"SSM_{name}" in environment else _text(value)
        # Split and join, not sub(): a backslash in a value is not a group reference.
        text = replacement.join(re.split(r"\{\{\s*" + re.escape(name) + r"\s*\}\}", text))
    return text


def _get(data: dict[str, Any]) -> dict[str, Any]:
    found = find(data["Name"])
    return {
        "Name": data["Name"],
        "Content": found["Text"] or json.dumps(found["Content"]),
        "DocumentVersion": str(found["Version"]),
        "DocumentType": found["DocumentType"],
        "DocumentFormat": "JSON",
        "Status": "Active",
    }


def _delete(data: dict[str, Any]) -> dict[str, Any]:
    find(data["Name"])
    documents.pop(data["Name"], None)
    return {}


ACTIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "CreateDocument": lambda data: {"DocumentDescription": create(data)},
    "UpdateDocument": lambda data: {"DocumentDescription": update(data)},
    "DescribeDocument": lambda data: {"Document": describe(data["Name"])},
    "GetDocument": _get,
    "ListDocuments": lambda data: {"DocumentIdentifiers": [describe(name) for name in documents]},
    "DeleteDocument": _delete,
}
