"""Small changes of a source file, of which any would be a defect."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from token import COMMENT, NAME, NUMBER, OP
from tokenize import generate_tokens

_PAIRS = ("< <=", "> >=", "== !=", "and or", "&& ||", "True False", "true false", "+ -", "+= -=", "min max", "any all")
SWAPPED = {"*": "/"} | {one: other for pair in _PAIRS for one, other in (pair.split(), reversed(pair.split()))}
# Of Rust and TypeScript: strings and comments are passed over, and so is what may be a type or a generic.
_SKIPPED = r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`|//[^\n]*|/\*.*?\*/'
_OPERATORS = r"(?<= )(<=|>=|==|!=|&&|\|\||\+=|[<>+*-])(?= )"
_TOKEN = re.compile(rf"({_SKIPPED})|{_OPERATORS}|\b(true|false|min|max|any|all)\b|\b(\d+)\b", re.DOTALL)
_ASL_NUMBER = re.compile(r'"(?:TimeoutSeconds|HeartbeatSeconds|MaxAttempts|IntervalSeconds|BackoffRate)": (\d+)')


@dataclass(frozen=True)
class Mutation:
    """`file` with `old` at `offset` replaced by `new`."""

    file: Path
    offset: int
    line: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} → {self.new}"

    def apply(self, root: Path) -> None:
        """Change the file below `root`."""
        target = root / self.file
        text = target.read_text(encoding="utf-8")
        if text[self.offset : self.offset + len(self.old)] != self.old:
            raise ValueError(f"{self}: the file has something else there")
        target.write_text(text[: self.offset] + self.new + text[self.offset + len(self.old) :], encoding="utf-8")


def mutations(root: Path, file: Path) -> Iterator[Mutation]:
    """All mutations of a file below `root`."""
    text = (root / file).read_text(encoding="utf-8")
    found = {".py": _of_python, ".json": _of_asl}.get(file.suffix, _of_braces)(text)
    for offset, old, new in found:
        yield Mutation(file, offset, text.count("\n", 0, offset) + 1, old, new)


def _of_python(text: str) -> Iterator[tuple[int, str, str]]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token in generate_tokens(StringIO(text).readline):
        if token.type == COMMENT:
            continue
        offset = starts[token.start[0] - 1] + token.start[1]
        if token.type in (OP, NAME) and token.string in SWAPPED:
            # A star may stand for arguments, a minus for a sign: with spaces around they are operators.
            if token.string not in "+-*" or text[offset - 1] == " " == text[offset + 1]:
                yield offset, token.string, SWAPPED[token.string]
        elif token.type == NUMBER and token.string.isdigit():
            yield offset, token.string, str(int(token.string) + 1)


def _of_braces(text: str) -> Iterator[tuple[int, str, str]]:
    tests = text.find("#[cfg(test)]")
    for found in _TOKEN.finditer(text, 0, tests if tests >= 0 else len(text)):
        if found[2] or found[3]:
            yield found.start(), found[0], SWAPPED[found[0]]
        elif found[4]:
            yield found.start(), found[0], str(int(found[0]) + 1)


def _of_asl(text: str) -> Iterator[tuple[int, str, str]]:
    for found in _ASL_NUMBER.finditer(text):
        yield found.start(1), found[1], str(int(found[1]) + 1)
