"""EC2's query protocol, typed: what the patches read and answer."""

from __future__ import annotations

from typing import Any, TypeVar
from xml.sax.saxutils import escape

from botocore.model import ListShape, Shape, StructureShape

from local.models import service_model
from local.patches.upstream import ec2

Params = dict[str, Any]
Response = tuple[int, dict[str, str], bytes]
Entry = TypeVar("Entry")


def parameter(params: Params, name: str, default: str = "") -> str:
    """One value."""
    return str(ec2._p(params, name) or default)


def members(params: Params, prefix: str) -> list[str]:
    """Values of `prefix.1`, `prefix.2`, …"""
    return [str(item) for item in ec2._parse_member_list(params, prefix)]


def is_dry_run(params: Params) -> bool:
    """Return whether the call only asks if it would succeed."""
    return parameter(params, "DryRun").lower() == "true"


def filters_of(params: Params) -> dict[str, list[str]]:
    """Filters by name."""
    return dict(ec2._parse_filters(params))


def matches(pattern: str, value: str) -> bool:
    """Return whether a filter's value, `*` and `?` allowed, matches."""
    return bool(ec2._glob_match(pattern, value))


def tag_specifications(params: Params) -> dict[str, dict[str, str]]:
    """Tags of a request by resource type."""
    found: dict[str, dict[str, str]] = {}
    number = 1
    while kind := parameter(params, f"TagSpecification.{number}.ResourceType"):
        tags = found.setdefault(kind, {})
        tag = 1
        while key := parameter(params, f"TagSpecification.{number}.Tag.{tag}.Key"):
            tags[key] = parameter(params, f"TagSpecification.{number}.Tag.{tag}.Value")
            tag += 1
        number += 1
    return found


def tags_of(account: str, region: str, resource_id: str) -> dict[str, str]:
    """Tags of a resource."""
    return {tag["Key"]: str(tag["Value"]) for tag in ec2._tags._data.get((account, region, resource_id), [])}


def answer(action: str, inner: str) -> Response:
    """A successful response."""
    status, headers, body = ec2._xml(200, f"{action}Response", inner)
    return status, headers, body


def document(action: str, value: dict[str, Any]) -> Response:
    """A successful response from an answer in the form that clients see."""
    shape: Any = service_model("ec2").operation_model(action).output_shape
    return answer(action, _xml(shape, value))


def pages(params: Params, entries: list[Entry], most: int) -> tuple[list[Entry], dict[str, str]]:
    """The entries that NextToken and MaxResults ask for, and the next token where there are more."""
    size = min(int(parameter(params, "MaxResults") or most), most)
    start = int(parameter(params, "NextToken") or 0)
    more = {"NextToken": str(start + size)} if start + size < len(entries) else {}
    return entries[start : start + size], more


def _xml(shape: Shape, value: Any) -> str:
    if isinstance(shape, StructureShape):
        inner = (
            (member.serialization["name"], member, value[name])
            for name, member in shape.members.items()
            if name in value
        )
        return "".join(f"<{tag}>{_xml(member, part)}</{tag}>" for tag, member, part in inner)
    if isinstance(shape, ListShape):
        return "".join(f"<item>{_xml(shape.member, part)}</item>" for part in value)
    return escape(str(value).lower() if isinstance(value, bool) else str(value))


def refuse(code: str, message: str, status: int = 400) -> Response:
    """An error response."""
    status, headers, body = ec2._error(code, ec2._esc(message), status)
    return status, headers, body
