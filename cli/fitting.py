"""Tables and lines in a narrow terminal: no number is cut or wrapped; what has no room stands below its row."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.style import StyleType
from rich.table import Column, Table

from cli.console import Text

# Of sentences in a column: narrower ones are broken after every word.
LEAST_SENTENCE = 34
_INDENT = 4
_GAP = 2


class Fitted:
    """A table as it is where there is room.

    Elsewhere its bars are left out, and sentences, then columns from the right, are told below each row.
    """

    def __init__(self, table: Table, bars: Sequence[str] = (), sentences: Sequence[str] = ()) -> None:
        """`bars` and `sentences` are headings of the table's columns."""
        self._table, self._bars, self._sentences = table, bars, sentences

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """See Rich."""
        if self._natural_width() <= options.max_width:
            yield self._table
            return
        if self._table.title:
            yield Text.assemble((str(self._table.title), "italic"))
        yield from self._narrow(options.max_width)

    def _natural_width(self) -> int:
        """With sentences no wider than they need to be readable; a space at each side of a column."""
        widths = [_width(column) for column in self._table.columns]
        for place, column in enumerate(self._table.columns):
            if column.header in self._sentences:
                widths[place] = min(widths[place], LEAST_SENTENCE)
        return sum(widths) + len(widths) * 2 + 2

    def _narrow(self, room: int) -> RenderResult:
        kept = [column for column in self._table.columns if column.header not in (*self._bars, *self._sentences)]
        sentences = [column for column in self._table.columns if column.header in self._sentences]
        below: list[Column] = []
        while len(kept) > 1 and sum(map(_first_width, kept)) + _GAP * (len(kept) - 1) > room:
            below.insert(0, kept.pop())
        widths = [_first_width(column) for column in kept]
        if self._table.show_header:
            yield _row([str(column.header) for column in kept], kept, widths, self._table.header_style or "bold")
        for place, row in enumerate(self._table.rows):
            cells = [list(column.cells)[place] for column in kept]
            yield _row([_lines(cell)[0] for cell in cells], kept, widths, row.style or "")
            pieces = [text for cell in cells for text in _lines(cell)[1:]]
            pieces += [
                f"{column.header} {_joined(column, place)}".strip() for column in below if _joined(column, place)
            ]
            style, indent = row.style or "dim", (0, 0, 0, min(_INDENT, room // 8))
            if pieces:
                yield Padding(Packed([Text(piece, style=style) for piece in pieces]), indent, expand=False)
            for column in sentences:
                if told := _joined(column, place):
                    yield Padding(Text(told, style=style), indent, expand=False)


@dataclass(frozen=True)
class Packed:
    """Pieces of a line, none of which is broken: as many on each line as there is room for."""

    pieces: Sequence[Text]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """See Rich."""
        line = Text()
        for piece in self.pieces:
            if line and cell_len(line.plain) + 3 + cell_len(piece.plain) > options.max_width:
                yield line
                line = Text()
            line.append("   " if line else "")
            line.append_text(piece)
        yield line


def _row(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], style: StyleType) -> Text:
    padded = []
    for cell, column, width in zip_longest(cells, columns, widths):
        blank = " " * (width - cell_len(cell))
        padded.append(blank + cell if column.justify == "right" else cell + blank)
    return Text((" " * _GAP).join(padded).rstrip(), style=style)


def _joined(column: Column, place: int) -> str:
    return " ".join(_lines(list(column.cells)[place]))


def _lines(cell: object) -> list[str]:
    return (cell.plain if isinstance(cell, Text) else str(cell)).split("\n")


def _width(column: Column) -> int:
    cells = [text for cell in (column.header, *column.cells) for text in _lines(cell)]
    return column.width or max(map(cell_len, cells))


def _first_width(column: Column) -> int:
    """Of the first lines of its cells: what else they say stands below."""
    return max(cell_len(_lines(cell)[0]) for cell in (column.header, *column.cells))
