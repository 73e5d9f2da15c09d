"""What surrounds a measurement, by WebHDFS: a JVM for each step would take longer than what is measured."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from bench.data_plane.process import BenchError
from local.hadoop.cluster import HadoopCluster

SECONDS = 120


class Web:
    """A cluster as its superuser or another user sees it, from the name node's machine."""

    def __init__(self, hadoop: HadoopCluster, superuser: str) -> None:
        self._hadoop, self._superuser = hadoop, superuser

    def make_directory(self, path: str, owner: str) -> None:
        """With those above it; only the last one gets the owner."""
        self._ask("PUT", path, op="MKDIRS")
        self._ask("PUT", path, op="SETOWNER", owner=owner)

    def create(self, path: str, local: Path | None, owner: str) -> None:
        """A file with the content of a local one, or an empty one."""
        place = json.loads(self._ask("PUT", path, op="CREATE", noredirect="true", overwrite="true"))["Location"]
        self._send("PUT", place, local)
        self._ask("PUT", path, op="SETOWNER", owner=owner)

    def remove(self, path: str) -> None:
        """It and all below it."""
        self._ask("DELETE", path, op="DELETE", recursive="true")

    def checksum(self, path: str) -> str:
        """Of a file: with `dfs.checksum.combine.mode=COMPOSITE_CRC` that of its content, however blocks are cut."""
        place = json.loads(self._ask("GET", path, op="GETFILECHECKSUM", noredirect="true"))["Location"]
        found: dict[str, Any] = json.loads(self._send("GET", place, None))["FileChecksum"]
        return f"{found['algorithm']} {found['bytes']}"

    def proof(self, path: str) -> str:
        """What two copies have in common: of a file its checksum, of a folder how many files and bytes it has."""
        found = json.loads(self._ask("GET", path, op="GETCONTENTSUMMARY"))["ContentSummary"]
        if found["directoryCount"] == 0:
            return self.checksum(path)
        return f"{found['directoryCount']} folders, {found['fileCount']} files, {found['length']} bytes"

    def _ask(self, method: str, path: str, **words: str) -> bytes:
        query = urlencode({**words, "user.name": self._superuser})
        return self._send(method, f"http://{self._hadoop.web_address}/webhdfs/v1{quote(path)}?{query}", None)

    def _send(self, method: str, url: str, content: Path | None) -> bytes:
        return self._hadoop.name_node.machine.call(lambda: _sent(method, url, content))


def _sent(method: str, url: str, content: Path | None) -> bytes:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=SECONDS)
    headers = {"Content-Type": "application/octet-stream"}
    try:
        if content is None:
            connection.request(method, f"{parts.path}?{parts.query}", headers=headers)
        else:
            with content.open("rb") as stream:
                size = {"Content-Length": str(content.stat().st_size)}
                connection.request(method, f"{parts.path}?{parts.query}", body=stream, headers={**headers, **size})
        answer = connection.getresponse()
        said = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise BenchError(f"{method} {parts.path}: {error}") from error
    finally:
        connection.close()
    if answer.status >= http.client.BAD_REQUEST:
        raise BenchError(f"{method} {parts.path}: {answer.status} {said[:500].decode(errors='replace')}")
    return said
