"""Definitions of state machines are read once.

AWS: parses a definition when the machine is created. Emulator: does so again for each execution, 0.4 s of a core.
Half of what it makes of a tree is the text of the same branches.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from local.patches.replace import override
from local.patches.states.engine import RuleContext, parser

MOST = 16
"""Definitions that are remembered."""
MOST_TEXTS = 1 << 15
"""Branches of which the text is remembered; a machine of ours has some thousand."""

_trees: dict[str, Any] = {}


def install() -> None:
    """Remember the syntax trees of definitions; what is made of a tree, each execution still makes anew."""
    base: Any = parser.ASLParser

    class Remembering(base):  # type: ignore[misc] # the engine's class is untyped
        """The engine's parser."""

        def state_machine(self) -> Any:
            """The tree of the definition; one with errors is not remembered."""
            text = str(self.getTokenStream().tokenSource.inputStream)
            tree = _trees.get(text)
            if tree is None:
                tree = super().state_machine()
                if not self.getNumberOfSyntaxErrors():
                    while len(_trees) >= MOST:
                        _trees.pop(next(iter(_trees)), None)
                    _trees[text] = tree
            return tree

    override(parser, ASLParser=Remembering)
    # It is asked of whole trees only, which nobody changes; two branches are never equal.
    override(RuleContext, getText=lru_cache(MOST_TEXTS)(RuleContext.getText))
