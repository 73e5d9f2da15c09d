"""The one way out for text: what came from a document commands no terminal, whichever view prints it.

`say` prints lines, a `Shown` what Rich draws. Both write control characters out (`lambdas.core.visible`). A test
allows no other way.
"""

import re
from collections.abc import Iterable
from typing import Any, cast

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text as RichText

from lambdas.core.visible import visible

# Of logs and pipes, where nothing is wrapped: scripts look for whole lines.
PLAIN_WIDTH = 10_000
# Digests, commands, places.
_COPIED = re.compile(r"s3://|\barn:|[0-9a-f]{32}|\b(cpt|aws|npx) [a-z]")


def say(text: object, *, err: bool = False) -> None:
    """Print a line; JSON stays as it is, since it has escaped these characters already."""
    typer.echo(visible(str(text)), err=err)


class Text(RichText):
    """Rich's text, which drops some control characters without a word and passes others on; here all are shown."""

    def __init__(self, text: str = "", *arguments: Any, **options: Any) -> None:
        super().__init__(visible(text), *arguments, **options)

    def append(self, text: Any, style: Any = None) -> "Text":
        """See Rich."""
        super().append(visible(text) if isinstance(text, str) else text, style)
        return self

    @classmethod
    def assemble(cls, *parts: Any, **options: Any) -> "Text":
        """See Rich."""
        return cast(Text, super().assemble(*parts, **options))


def line(text: str, style: str = "") -> Text:
    """A sentence; one that holds something to be copied is wrapped by the terminal alone, which copies it whole."""
    return Text(text, style=style, no_wrap=True, overflow="ignore") if _COPIED.search(text) else Text(text, style=style)


class Shown(Console):
    """A console that reads no markup in what it is given, and lets no control character of it out."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **options})

    def print(self, *objects: Any, **options: Any) -> None:
        """See Rich; a line that is not to be wrapped is not cut either."""
        super().print(*objects, **{"crop": False, **options})

    def render_str(self, text: str, **options: Any) -> RichText:
        """See Rich."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """See Rich; its own commands are segments of another kind."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def make_console() -> Shown:
    """A console as wide as the terminal; in logs and pipes as wide as it needs."""
    console = Shown()
    return console if console.is_terminal else Shown(width=PLAIN_WIDTH)
