"""One suite for what is known of mirrors, in memory and in DynamoDB."""

import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_transfers import DynamoMirrors
from lambdas.adapters.stores import Mirrors
from lambdas.core.survey.whereabouts import FileSystem, SourcePath
from tests.lambdas.memory.stores import MemoryMirrors


@pytest.fixture
def mirrors(tables: dict[str, Table]) -> Mirrors:
    return DynamoMirrors(tables["transfers"]) if tables else MemoryMirrors()


def test_the_last_one_counts_and_each_mirror_has_its_own(mirrors: Mirrors) -> None:
    disk, memory = FileSystem(kind="ext4", mount_point="/srv", id="0b9f"), FileSystem(kind="tmpfs", mount_point="/")
    assert mirrors.source_paths("one") == []
    mirrors.note("one", [SourcePath(path="/srv", file_system=memory)])
    mirrors.note("other", [])
    last = [SourcePath(path="/srv", file_system=disk), SourcePath(path="/a%20b/", file_system=memory)]
    mirrors.note("one", last)
    assert mirrors.source_paths("one") == last
    assert mirrors.source_paths("other") == []
