"""The two lists of dependencies that a release comes with: one for scanners, one for people."""

import json
import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tools.release.components import Component

NAME = "cloud-parallel-transfer"
_RULE = "-" * 100


def sbom(components: Sequence[Component], version: str, epoch: int) -> bytes:
    """CycloneDX 1.5; its serial number is made from what it lists."""
    listed = [_with_licence(component) for component in components]
    body = json.dumps(listed, sort_keys=True)
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, body)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat().replace("+00:00", "Z"),
            "component": {
                "type": "application",
                "bom-ref": NAME,
                "name": NAME,
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": listed,
    }
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def _with_licence(component: Component) -> dict[str, Any]:
    # Its relations are to packages of the tool that wrote it; npm's `scope` says that all of them are for development.
    kept = {key: value for key, value in component.document.items() if key not in ("scope", "properties", "licenses")}
    if component.licence == "not stated":
        return kept
    return {**kept, "licenses": [{"license": {"name": component.licence}}]}


def licences(components: Sequence[Component]) -> bytes:
    """Every package with its licence, then each text once, with the packages that come with it."""
    lines = ["Licences of the packages that Cloud Parallel Transfer is built from, deployed by and run with.", ""]
    by_text: dict[str, list[str]] = defaultdict(list)
    for component in components:
        label = f"{component.ecosystem}: {component.name} {component.version}"
        lines.append(f"{label}: {component.licence}{'' if component.texts else ' (the package has no text of it)'}")
        for text in component.texts:
            by_text[text].append(label)
    for text, labels in by_text.items():
        lines += ["", _RULE, *labels, _RULE, "", text]
    return ("\n".join(lines) + "\n").encode()
