"""The report as one HTML page: a pure function of the report and the beginning of its list of files."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote_to_bytes

from jinja2 import Environment, Template

from lambdas.core.chunks.file_list import FileEntry
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.failures import advice
from lambdas.core.fleet.relay_node import Node
from lambdas.core.report import asked
from lambdas.core.report.page import pictures, tables
from lambdas.core.report.page.events import page_events
from lambdas.core.report.report import Report
from lambdas.core.request.request import TransferRequest
from lambdas.core.templates import environment

# A list that is read, not searched: the whole one lies beside the report.
SHOWN_FILES = 200
SHOWN_EVENTS = 40
CAUSES = {
    "checksum-mismatch": "what arrived was not what was sent; it was sent again",
    "stream-lost": "the stream broke before the chunk was on disk",
    "source-changed": "the file changed while it was read",
    "source-unreadable": "the file could not be read",
    "destination-error": "the destination could not write",
    "lease-expired": "the sender that had it was replaced",
}


@dataclass(frozen=True)
class Files:
    """The first files of the list; `total` of them are at the destination; `where` the whole list lies."""

    shown: Sequence[FileEntry]
    total: int
    where: str


def render(report: Report, files: Files | None = None) -> str:
    """HTML, without scripts and without anything from elsewhere; every name is data."""
    nodes = [Node.from_document(node) for node in report.nodes]
    estimate = Estimate.from_document(report.estimate) if report.estimate else None
    course = report.course
    events = page_events(nodes, course, pictures.seconds(course)) if course else []
    request = TransferRequest.from_document(report.request) if report.request else None
    css, css_hash = style()
    return template("report.html").render(
        report=report,
        moved=asked.moved(request) if request else None,
        label=request.label if request else None,
        tags=request.tags if request else {},
        request_text=asked.as_text(report.request) if report.request else "",
        estimate=estimate,
        row_bars=tables.row_bars(estimate) if estimate else [],
        advice=advice(report.error) if report.error else "",
        comparisons=tables.comparisons(report),
        money=tables.money(report),
        stages=tables.stages(report),
        relays=tables.relays(nodes, course),
        course=course,
        paths=tables.paths(course) if course else [],
        events=events[:SHOWN_EVENTS],
        events_left_out=max(len(events) - SHOWN_EVENTS, 0),
        rate_pictures=[pictures.rate_picture(course, events[:SHOWN_EVENTS], f) for f in pictures.FRAMES]
        if course
        else [],
        lane_pictures=[pictures.lane_picture(course, frame) for frame in pictures.FRAMES] if course else [],
        shades=range(pictures.SHADES),
        causes=CAUSES,
        files=files,
        style=css,
        style_hash=css_hash,
    )


def readable(path: str) -> str:
    """A percent-encoded path as its name where that can be shown without deceiving anybody, else as it is."""
    try:
        name = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return path
    return name if name.isprintable() else path


@cache
def _environment() -> Environment:
    return environment("lambdas.core.report.page", readable=readable)


@cache
def template(name: str) -> Template:
    """A template of this package, with the filters of its pages."""
    return _environment().get_template(name)


@cache
def style() -> tuple[str, str]:
    """The style sheet of all pages, and the hash by which their policy admits it."""
    css = template("report.css").render().strip()
    return css, base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
