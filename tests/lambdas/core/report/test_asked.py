"""What a report says of its request."""

import json
from typing import Any

from lambdas.core.report import asked
from lambdas.core.request.request import TransferRequest
from tests.lambdas.builders import request
from tests.lambdas.hdfs import CLUSTER, between_clusters


def parsed(paths: list[Any], path: str = "/restore") -> TransferRequest:
    document = request()
    document["source"]["paths"], document["destination"]["path"] = paths, path
    return TransferRequest.from_document(document)


def test_paths_are_named_with_their_machines() -> None:
    source, destination = asked.moved(parsed(["/data/ünï", "/b"]))
    assert source == "/data/ünï, /b on i-0aaaaaaaaaaaaaaa1 (us-west-2)"
    assert destination == "/restore on i-0bbbbbbbbbbbbbbb2 (eu-west-1)"


def test_paths_of_hdfs_are_named_with_their_workers() -> None:
    many = [f"/data/{i}" for i in range(7)]
    source, destination = asked.moved(between_clusters(2, 1, source={"paths": many}).request)
    assert source == (
        "hdfs:/data/0, hdfs:/data/1, hdfs:/data/2, hdfs:/data/3, hdfs:/data/4 and 2 more by i-0aaaaaaaaaaaaaaa1 and "
        "i-0aaaaaaaaaaaaaac1 (us-west-2)"
    )
    assert destination == "hdfs:/backup by i-0bbbbbbbbbbbbbbb2 (eu-west-1)"


def test_a_cluster_of_emr_is_named_with_the_workers_that_served() -> None:
    source, _ = asked.moved(between_clusters(2, 1, source={"clusterId": CLUSTER}).request)
    assert source == f"hdfs:/warehouse/sales by i-0aaaaaaaaaaaaaaa1 and i-0aaaaaaaaaaaaaac1 of {CLUSTER} (us-west-2)"


def test_a_path_that_lands_elsewhere_is_named_with_where() -> None:
    source, _ = asked.moved(parsed([{"path": "/data/run-17", "as": "2026/run\x1b[2J"}, "/b/"]))
    assert source == "/data/run-17 as 2026/run\\x1b[2J, /b/ on i-0aaaaaaaaaaaaaaa1 (us-west-2)"


def test_of_many_paths_the_first_are_named_and_the_others_counted() -> None:
    source, _ = asked.moved(parsed([f"/data/{i}" for i in range(100)]))
    assert source.startswith("/data/0, /data/1, /data/2, /data/3, /data/4 and 95 more on ")


def test_what_would_act_on_a_terminal_is_shown() -> None:
    source, destination = asked.moved(parsed(["/a\x1b[2J"], "/b\u202egnp\n"))
    assert source.startswith("/a\\x1b[2J on ")
    assert destination.startswith("/b\\u202egnp\\n on ")


def test_request_of_a_thousand_rules_is_a_short_text() -> None:
    rules = [f"{i:04d}" * 250 for i in range(1_000)]
    text = asked.as_text(request(select={"exclude": rules}))
    shown = json.loads(text)
    assert shown["select"]["exclude"] == [*rules[:20], "… 980 more in report.json"]
    assert shown["destination"] == request()["destination"]
    assert len(text) < 30_000
