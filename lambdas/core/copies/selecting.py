"""Which keys are copied: a request's rules and limits, judged as the daemon judges paths (`ends/src/select.rs`)."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lambdas.core.copies.listed import Listed
from lambdas.core.survey.survey import UnselectedReason


class Selector:
    """A selection, as commands to daemons have it, of keys without the prefix."""

    def __init__(self, command: dict[str, Any]) -> None:
        self._exclude = Rules(command.get("exclude", []))
        self._include = Rules(command["include"]) if command.get("include") else None
        self._least, self._most = command.get("minSizeBytes"), command.get("maxSizeBytes")
        self._from, self._until = command.get("modifiedFromNs"), command.get("modifiedUntilNs")

    def leaves_out(self, one: Listed) -> UnselectedReason | None:
        """Why it is not copied; None where it is."""
        if self._exclude.leave_out(one.key):
            return "excluded"
        if self._include is not None and not self._include.match_or_above(one.key):
            return "not-included"
        if self._least is not None and one.size < self._least:
            return "too-small"
        if self._most is not None and one.size > self._most:
            return "too-large"
        modified = round(one.modified * 1e9)
        if self._from is not None and modified < self._from:
            return "too-old"
        return "too-new" if self._until is not None and modified >= self._until else None


class Rules:
    """Lines of a gitignore file."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._rules = [rule for rule in (_rule(_bytes(line)) for line in lines) if rule is not None]
        self._directory = lru_cache(maxsize=4096)(self._judge_directory)

    def leave_out(self, key: str) -> bool:
        """Whether a rule matches the key, or a directory above it that no later rule takes back."""
        if not self._rules:
            return False
        key = _bytes(key)
        above = _above(key)
        return (above is not None and self._directory(above)) or self._last(key, is_directory=False) is True

    def match_or_above(self, key: str) -> bool:
        """Whether the nearest of key and directories above it that any rule matches is matched for good."""
        path, is_directory = _bytes(key), False
        while True:
            found = self._last(path, is_directory=is_directory)
            if found is not None:
                return found
            above = _above(path)
            if above is None:
                return False
            path, is_directory = above, True

    def _judge_directory(self, path: str) -> bool:
        above = _above(path)
        return (above is not None and self._directory(above)) or self._last(path, is_directory=True) is True

    def _last(self, path: str, *, is_directory: bool) -> bool | None:
        """What the last rule says that matches just this path."""
        for pattern, only_directories, taken in reversed(self._rules):
            if (is_directory or not only_directories) and pattern.fullmatch(path):
                return taken
        return None


def _bytes(text: str) -> str:
    """A character for each byte: to git, and to the daemon, `?` is a byte."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def _above(path: str) -> str | None:
    head, slash, _ = path.rpartition("/")
    return head if slash else None


def _rule(line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    """A line's pattern, whether it is of directories alone, and whether it takes or gives back."""
    if line.startswith("#"):
        return None
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    taken = not line.startswith("!")
    line = line.removeprefix("!")
    only_directories = line.endswith("/")
    line = line.removesuffix("/")
    if not line:
        return None
    anchored = "/" in line
    body = _pattern(line.removeprefix("/"))
    return re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL), only_directories, taken


def _pattern(line: str) -> str:
    made, at = "", 0
    while at < len(line):
        rest = line[at:]
        if rest.startswith("**/") and (at == 0 or line[at - 1] == "/"):
            made, at = made + "(?:.*/)?", at + 3
        elif rest == "**" and (at == 0 or line[at - 1] == "/"):
            made, at = made + ".+", at + 2
        elif rest[0] == "*":
            run = len(rest) - len(rest.lstrip("*"))
            made, at = made + "[^/]*", at + run
        elif rest[0] == "?":
            made, at = made + "[^/]", at + 1
        elif rest[0] == "\\" and len(rest) > 1:
            made, at = made + re.escape(rest[1]), at + 2
        elif rest[0] == "[" and (found := _class(rest)) is not None:
            made, at = made + found[0], at + found[1]
        else:
            made, at = made + re.escape(rest[0]), at + 1
    return made


def _class(rest: str) -> tuple[str, int] | None:
    """A class of characters, which no slash is of, and how many characters of the rule it takes."""
    start = 2 if rest[1:2] in ("!", "^") else 1
    end = rest.find("]", start + 1)
    if end < 0:
        return None
    inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", rest[start:end].replace("\\", ""))
    return f"(?!/)[{'^' if start == 2 else ''}{inner}]", end + 1
