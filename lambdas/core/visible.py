"""Text of others as it may be shown: what would command a terminal, or turn a line around, is written out.

A name on a disk may hold any character. Written raw, an escape sequence clears the screen and forges a verdict.
"""

import re
from typing import Any

# C0 but the line feed, DEL and C1, separators of lines and paragraphs, and all that sets a direction of writing.
_COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""The text with each such character as `\x1b` or `\u202e`; line feeds stay."""
    return _COMMANDS.sub(lambda found: _written(ord(found[0])), text)


def visible_values(value: Any) -> Any:
    """A JSON value, all strings and keys of which may be shown."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(str(key)): visible_values(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [visible_values(inner) for inner in value]
    return value


def _written(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
