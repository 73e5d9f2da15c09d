"""Output that a terminal can show: characters that its encoding lacks become ASCII, ours by a likeness, others escaped.

Rich draws its own tables and bars in ASCII where the encoding is not UTF-8; this is for everything else.
"""

import codecs
import sys
from io import TextIOWrapper

# Of one character where it stands in a column or a bar.
_LIKENESSES = {
    "▶": ">",
    "█": "#",
    "×": "x",
    "✓": "+",
    "✗": "x",
    "─": "-",
    "━": "-",
    "│": "|",
    "╭": "+",
    "╮": "+",
    "╰": "+",
    "╯": "+",
    "╸": "-",
    "╺": "-",
    "–": "-",
    "—": "-",
    "·": "-",
    "•": "*",
    "→": "->",
    "←": "<-",
    "…": "...",
    "≤": "<=",
    "≥": ">=",
    "⁶": "^6",
    "\u00a0": " ",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
}
_HANDLER = "cpt-likeness"
_ENCODING = "cpt-ascii"


def prepare() -> None:
    """Make standard output and error take every character, whatever the locale."""
    codecs.register_error(_HANDLER, _likeness)
    codecs.register(_find)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            # Click writes UTF-8 where it finds an encoding named ASCII; the same codec by another name it leaves alone.
            stream.reconfigure(encoding=_ENCODING if is_ascii else stream.encoding, errors=_HANDLER)


def _likeness(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for the characters that could not be encoded; a name of a file keeps its bytes, as `\\xff`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_LIKENESSES.get(character) or _escaped(character) for character in characters), error.end


def _escaped(character: str) -> str:
    code = ord(character)
    # Bytes that are no text reach Python as U+DC80 to U+DCFF.
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("ascii", "backslashreplace").decode("ascii")


def _find(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != _ENCODING:
        return None
    ascii_codec = codecs.lookup("ascii")
    return codecs.CodecInfo(
        name=_ENCODING,
        encode=ascii_codec.encode,
        decode=ascii_codec.decode,
        incrementalencoder=ascii_codec.incrementalencoder,
        incrementaldecoder=ascii_codec.incrementaldecoder,
        streamwriter=ascii_codec.streamwriter,
        streamreader=ascii_codec.streamreader,
    )
