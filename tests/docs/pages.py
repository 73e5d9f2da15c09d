"""What the pages of the documentation hold: blocks of commands, and commands within a sentence."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Beside those above: they name make's targets and link to pages.
FURTHER = [
    *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs" / "design").glob("*.md")),
    *(ROOT / f"{name}/README.md" for name in ("bench", "relay-ami")),
]
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:sudo )?(?:\.venv/bin/)?(?:cpt|aws|make|npx cdk) [^`]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: page, line of its fence, the words behind its opening fence, its text."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        """`docs/use.md:97`."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def scripts(self) -> list[str]:
        """One, or with a line `# or` one for each way to end it."""
        first, *others = self.text.split("# or\n")
        common = "".join(first.splitlines(keepends=True)[:-1])
        return [first, *(common + other for other in others)]

    @property
    def commands(self) -> list[str]:
        """Its lines, each without the comment at its end; empty ones left out."""
        lines = (re.sub(r"(^|\s+)# .*", "", line).strip() for line in self.text.splitlines())
        return [line for line in lines if line]


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    text = page.read_text()
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[1].strip(), found[2])
        for found in _BLOCK.finditer(text)
    ]


def inline_commands(page: Path) -> list[str]:
    """Commands with words behind them that stand within a sentence."""
    return _INLINE.findall(_BLOCK.sub("", page.read_text()))
