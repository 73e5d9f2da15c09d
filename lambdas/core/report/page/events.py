"""What happened while data flowed: relays that joined, left and were lost, limits that were set."""

from dataclasses import dataclass
from typing import Literal

from lambdas.core.fleet.relay_node import Node
from lambdas.core.report.timeline import Course, LimitSet
from lambdas.core.request.bandwidth import limit_in_words

Kind = Literal["joined", "left", "lost", "limit"]
# Things of one kind this close together are one: relays of a fleet join within a second or two.
CLOSE_SECONDS, CLOSE_SHARE = 1.0, 0.015


@dataclass(frozen=True)
class PageEvent:
    """Second since the course's zero; `reason` of the first that has one, of a limit all that is to be said."""

    second: float
    kind: Kind
    node_ids: list[str]
    reason: str

    def with_node(self, other: "PageEvent") -> "PageEvent":
        """Return one event of the same kind and moment for the nodes of both."""
        return PageEvent(self.second, self.kind, self.node_ids + other.node_ids, self.reason or other.reason)


def page_events(nodes: list[Node], course: Course, end: float) -> list[PageEvent]:
    """In order of time, from zero to `end` (s): what came after the last byte was the teardown's doing."""
    close = max(CLOSE_SECONDS, end * CLOSE_SHARE)
    found: list[PageEvent] = []
    for one in sorted([*_single(nodes, course.zero_at), *map(_limit, course.limits)], key=lambda single: single.second):
        if not 0 <= one.second < end:
            continue
        known = next((place for place, other in enumerate(found) if _same(other, one, close)), None)
        if known is None:
            found.append(one)
        else:
            found[known] = found[known].with_node(one)
    return found


def _single(nodes: list[Node], zero_at: float) -> list[PageEvent]:
    found = []
    for node in nodes:
        if node.joined_at is not None:
            found.append(PageEvent(node.joined_at - zero_at, "joined", [node.node_id], ""))
        if node.ended_at is not None:
            kind: Kind = "lost" if node.state == "LOST" else "left"
            found.append(PageEvent(node.ended_at - zero_at, kind, [node.node_id], node.reason or ""))
    return found


def _limit(change: LimitSet) -> PageEvent:
    return PageEvent(change.second, "limit", [], limit_in_words(change.bandwidth_limit_mbps, change.by))


def _same(one: PageEvent, other: PageEvent, close: float) -> bool:
    return one.kind == other.kind != "limit" and other.second - one.second <= close
