"""What a transfer was asked to do, in words: from where to where, and its request as a text that is short enough."""

import json
from typing import Any

from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.request.request import TransferRequest
from lambdas.core.visible import visible

# A request may have 100 paths and 2 000 rules of 1 000 characters; `report.json` has all of them.
SHOWN_PATHS = 5
SHOWN_ITEMS = 20


def moved(request: TransferRequest) -> tuple[str, str]:
    """Paths of the source and the destination, each with its machine; control characters are shown, not sent."""
    source, destination = request.source, request.destination
    return (_in_words(source, _paths(source)), _in_words(destination, _in_line(destination.where)))


def _paths(source: SourceEnd) -> str:
    if isinstance(source, BucketEnd):
        return _in_line(source.where)
    paths = source.paths
    more = f" and {len(paths) - SHOWN_PATHS:,} more" if len(paths) > SHOWN_PATHS else ""
    return _in_line(", ".join(map(source.in_words, paths[:SHOWN_PATHS]))) + more


def _in_words(end: SourceEnd | DestinationEnd, where: str) -> str:
    if isinstance(end, BucketEnd):
        return f"{where} ({end.region})"
    return f"{where} {'by' if isinstance(end, HdfsEnd) else 'on'} {end.machine_words} ({end.region})"


def as_text(request: dict[str, Any]) -> str:
    """The request as indented JSON; of a list longer than 20 items the first 20 and the number of the others."""
    return visible(json.dumps(_shortened(request), indent=2, ensure_ascii=False))


def _in_line(path: str) -> str:
    return visible(path).replace("\n", "\\n")


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        left = len(value) - SHOWN_ITEMS
        return [*map(_shortened, value[:SHOWN_ITEMS]), *([f"… {left:,} more in report.json"] if left > 0 else [])]
    return value
