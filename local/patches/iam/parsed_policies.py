"""Policy documents are read once.

Emulator: parses each document of a role again for each request, a fortieth of all that it does in a transfer.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from local.patches.replace import override
from local.patches.upstream import iam_evaluator

MOST = 1024
"""Documents that are remembered, by their text."""


def install() -> None:
    """Remember the statements of documents, which nobody changes; a list of them is each caller's own."""
    parse = iam_evaluator.parse_policy_document
    remembered = lru_cache(MOST)(lambda text: tuple(parse(text)))

    def parsed(document: Any) -> list[Any]:
        return list(remembered(document)) if isinstance(document, str) else list(parse(document))

    override(iam_evaluator, parse_policy_document=parsed)
