"""Kinds of ends are told apart by `kind`; without it an end is a machine, unless it names a bucket or workers."""

import pytest

from lambdas.core.ends.bucket import SourceBucket
from lambdas.core.ends.hdfs import SourceHdfs
from lambdas.core.ends.machine import SourceMachine
from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits, TransferRequest, parse_request
from tests.lambdas.buckets import bucket
from tests.lambdas.builders import IRELAND, SOURCE_ID, WEST, request
from tests.lambdas.hdfs import hdfs_source

MACHINE = {"instanceId": SOURCE_ID, "region": WEST, "paths": ["/data"]}


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (MACHINE, SourceMachine),
        ({**MACHINE, "kind": "machine"}, SourceMachine),
        (bucket("in/"), SourceBucket),
        (hdfs_source(), SourceHdfs),
    ],
)
def test_an_end_is_of_its_kind_and_stays_so_as_a_document(source: dict[str, object], kind: type) -> None:
    found = TransferRequest.from_document(request(source=source))
    assert type(found.source) is kind
    assert TransferRequest.from_document(found.to_document()) == found
    assert TransferRequest.model_validate(found.model_dump()).source == found.source


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ({key: value for key, value in hdfs_source().items() if key != "kind"}, "$.source.kind: is missing; it is req"),
        (
            {**hdfs_source(), "kind": "tape"},
            """$.source.kind: "tape" is not valid; write 'machine', 'bucket' or 'hdfs'""",
        ),
        (
            {**hdfs_source(), "instanceId": SOURCE_ID},
            "$.source.instanceId: is not a known key; name instances of the cl",
        ),
        (
            {**hdfs_source(), "clusterId": "j-1"},
            '$.source.clusterId: "j-1" is not valid; write the id of a cluster of EMR, e.g. j-',
        ),
        ({**hdfs_source(), "bucket": "b"}, "$.source.bucket: is not a known key; HDFS has paths; leave it out"),
        ({**hdfs_source(), "tags": {}}, "$.source.tags: is not a known key; objects of a bucket have it"),
        ({**hdfs_source(), "user": "a/b"}, '$.source.user: "a/b" is not valid; write the name of a user of HDFS'),
        ({**hdfs_source(), "workers": []}, "$.source.workers: [] is not valid; write 1 or more"),
        ({**MACHINE, "kind": "machine", "workers": [SOURCE_ID]}, "$.source.workers: is not a known key; a machine is"),
        (
            {key: value for key, value in hdfs_source().items() if key != "workers"},
            "$.source.workers: is missing; it is required, or clusterId with the id of a cluster of EMR",
        ),
        ({**MACHINE, "kind": "machine", "clusterId": "j-3KVTXXXXXX7UG"}, "$.source.clusterId: is not a known key; a m"),
        ({**bucket("in/"), "clusterId": "j-3KVTXXXXXX7UG"}, "$.source.clusterId: is not a known key; a bucket has no"),
        ({**MACHINE, "user": "etl"}, "$.source.user: is not a known key; a user of a machine is named as runAs"),
        ({**bucket("in/"), "workers": [SOURCE_ID]}, "$.source.workers: is not a known key; a bucket has no machine"),
        ({**bucket("in/"), "replication": 2}, "$.source.replication: is not a known key; files of HDFS have it"),
    ],
)
def test_a_key_of_another_kind_is_refused_with_what_its_own_has_in_its_place(
    source: dict[str, object], problem: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_request(request(source=source), Limits(regions=(WEST, IRELAND), max_pairs=8, instance_types=()))
    assert [one for one in refused.value.problems if one.startswith(problem)], refused.value.problems
