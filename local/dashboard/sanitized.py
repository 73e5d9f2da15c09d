"""What CloudWatch takes away from a widget's HTML: scripts, frames, `use` of SVG, and attributes that act.

Source: CloudWatch User Guide, custom widgets, "Security and JavaScript".
"""

from html import escape
from html.parser import HTMLParser

GONE = frozenset({"script", "iframe", "use"})
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


def sanitized(html: str) -> str:
    """The same HTML without them."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return "".join(parser.kept)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.kept: list[str] = []
        self._within = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in GONE:
            self._within += tag not in VOID
        elif not self._within:
            self.kept.append(f"<{tag}{''.join(map(_attribute, filter(_is_kept, attrs)))}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in GONE and not self._within:
            self.kept.append(f"<{tag}{''.join(map(_attribute, filter(_is_kept, attrs)))}/>")

    def handle_endtag(self, tag: str) -> None:
        if tag in GONE:
            self._within = max(self._within - 1, 0)
        elif not self._within:
            self.kept.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._text(data)

    def handle_entityref(self, name: str) -> None:
        self._text(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._text(f"&#{name};")

    def _text(self, text: str) -> None:
        if not self._within:
            self.kept.append(text)


def _is_kept(attribute: tuple[str, str | None]) -> bool:
    name, value = attribute
    return not name.startswith("on") and not (value or "").strip().lower().startswith("javascript:")


def _attribute(attribute: tuple[str, str | None]) -> str:
    name, value = attribute
    return f" {_CASED.get(name, name)}" + ("" if value is None else f'="{escape(value)}"')


# The parser gives names in lower case; SVG's are not.
_CASED = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio"}
