"""From where to where, as a request says it that nobody may have judged yet."""

from collections.abc import Mapping
from typing import Any


def from_and_to(request: object) -> tuple[str, str] | None:
    """Machine and path, or bucket and prefix, of each end: `i-0123456789abcdef0:/data`; None where it does not say.

    Of HDFS the path and the workers, or their cluster: `hdfs:/data by i-0123456789abcdef0`.
    """
    try:
        return (_source(request["source"]), _destination(request["destination"]))  # type: ignore[index]
    except (TypeError, KeyError, ValueError, IndexError):
        return None


def _source(end: Mapping[str, Any]) -> str:
    if end.get("kind") == "bucket":
        return _bucket(end)
    first, *more = end["paths"]
    left = f" and {len(more):,} more" if more else ""
    first = first if isinstance(first, str) else f"{first['path']} as {first['as']}"
    return _hdfs(end, f"{first}{left}") if _is_hdfs(end) else f"{_machine(end)}:{first}{left}"


def _destination(end: Mapping[str, Any]) -> str:
    if end.get("kind") == "bucket":
        return _bucket(end)
    return _hdfs(end, end["path"]) if _is_hdfs(end) else f"{_machine(end)}:{end['path']}"


def _is_hdfs(end: Mapping[str, Any]) -> bool:
    return end.get("kind") == "hdfs"


def _hdfs(end: Mapping[str, Any], where: str) -> str:
    return f"hdfs:{where} by {end.get('clusterId') or ','.join(end['workers'])}"


def _bucket(end: Mapping[str, Any]) -> str:
    return f"s3://{end['bucket']}/{end.get('prefix', '')}"


def _machine(end: Mapping[str, Any]) -> str:
    return ",".join(end["instanceIds"]) if "instanceIds" in end else str(end["instanceId"])
