"""Requests with HDFS at an end: all pairs of kinds, and what HDFS has not, each refused by its name."""

from itertools import product
from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits, TransferRequest, parse_request
from tests.lambdas.buckets import bucket
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST, request
from tests.lambdas.hdfs import CLUSTER, OTHER_CLUSTER, hdfs_destination, hdfs_source, of_cluster

LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=8, instance_types=())
MACHINES = request()
SOURCES: dict[str, dict[str, Any]] = {
    "machine": MACHINES["source"],
    "bucket": bucket("in/", region=WEST),
    "hdfs": hdfs_source(2),
}
DESTINATIONS: dict[str, dict[str, Any]] = {
    "machine": MACHINES["destination"],
    "bucket": bucket("out/", name="other"),
    "hdfs": hdfs_destination(2),
}
WITH_HDFS = [pair for pair in product(SOURCES, DESTINATIONS) if "hdfs" in pair]


def parsed(source: str = "hdfs", destination: str = "hdfs", **keys: Any) -> TransferRequest:
    return parse_request({"source": SOURCES[source], "destination": DESTINATIONS[destination], **keys}, LIMITS)


def refused(
    source: str | dict[str, Any] = "hdfs", destination: str | dict[str, Any] = "hdfs", **keys: Any
) -> list[str]:
    there = SOURCES[source] if isinstance(source, str) else source
    where = DESTINATIONS[destination] if isinstance(destination, str) else destination
    with pytest.raises(InvalidRequest) as error:
        parse_request({"source": there, "destination": where, **keys}, LIMITS)
    return error.value.problems


@pytest.mark.parametrize(("source", "destination"), WITH_HDFS)
def test_each_pair_with_hdfs_is_accepted_and_relays_stand_beside_each_end_with_machines(
    source: str, destination: str
) -> None:
    found = parsed(source, destination)
    assert (found.source.kind, found.destination.kind) == (source, destination)
    assert found.machine_sides == [side for side, kind in enumerate((source, destination)) if kind != "bucket"]
    assert TransferRequest.from_document(found.to_document()) == found


ANY_PAIR = [("hdfs", "machine"), ("machine", "hdfs"), ("hdfs", "hdfs")]
CARRIED = [("owners", "names"), ("xattrs", True), ("acls", True)]


@pytest.mark.parametrize(("source", "destination"), ANY_PAIR)
@pytest.mark.parametrize("key", ["hardLinks", "sparse", "specialFiles"])
def test_what_hdfs_has_not_is_preserved_neither_from_nor_to_it(source: str, destination: str, key: str) -> None:
    (problem,) = refused(source, destination, preserve={key: True})
    side = "source" if source == "hdfs" else "destination"
    assert problem == f"$.preserve.{key}: true, and $.{side} is HDFS: HDFS has none; leave it out"


@pytest.mark.parametrize(("source", "destination"), ANY_PAIR[:2])
@pytest.mark.parametrize(("key", "value"), [*CARRIED, ("owners", "numeric")])
def test_names_attributes_and_lists_are_carried_between_two_of_hdfs_alone(
    source: str, destination: str, key: str, value: object
) -> None:
    (problem,) = refused(source, destination, preserve={key: value})
    side, said = "source" if source == "hdfs" else "destination", "true" if value is True else repr(value)
    assert problem.startswith(
        f"$.preserve.{key}: {said}, and $.{side} is HDFS: they are carried from HDFS to HDFS only"
    )
    assert problem.endswith("; leave it out")


@pytest.mark.parametrize(("key", "value"), CARRIED)
def test_what_is_carried_is_in_the_commands_of_both_ends(key: str, value: object) -> None:
    found = parsed(preserve={key: value})
    assert found.preserve.to_document()[key] == value


def test_owners_of_hdfs_have_no_numbers() -> None:
    (problem,) = refused(preserve={"owners": "numeric"})
    assert problem.endswith("owners have names there, and no numbers; write 'names'")


@pytest.mark.parametrize("destination", ["machine", "hdfs"])
@pytest.mark.parametrize(
    ("keys", "field", "words"),
    [
        ({"links": "follow"}, "links", "HDFS has no links"),
        ({"select": {"pathsFrom": "/list"}}, "select.pathsFrom", "the list is a file of a machine"),
        ({"select": {"oneFileSystem": True}}, "select.oneFileSystem", "no mounted file systems"),
    ],
)
def test_what_only_a_machines_tree_has_is_refused_of_a_source(
    destination: str, keys: dict[str, Any], field: str, words: str
) -> None:
    (problem,) = refused("hdfs", destination, **keys)
    assert problem.startswith(f"$.{field}: ")
    assert words in problem
    assert parsed("machine", "hdfs", **keys)


@pytest.mark.parametrize("source", ["machine", "hdfs"])
def test_what_is_replaced_or_removed_at_a_destination_is_not_kept(source: str) -> None:
    (problem,) = refused(source, "hdfs", keepReplaced=".replaced")
    assert problem.startswith("$.keepReplaced: '.replaced', and $.destination is HDFS: ")
    assert parsed(source, "hdfs", delete=True, confirmDelete="without-dry-run"), "a mirror removes for good"


def test_a_mirror_may_use_the_trash_and_whoever_removes_nothing_has_no_use_for_it() -> None:
    with_trash = {**DESTINATIONS["hdfs"], "trash": True}
    (problem,) = refused("hdfs", with_trash)
    assert problem.startswith("$.destination.trash: true, and $.destination is HDFS: $.delete is false")
    keys: dict[str, Any] = {"delete": True, "confirmDelete": "without-dry-run"}
    found = parse_request({"source": SOURCES["hdfs"], "destination": with_trash, **keys}, LIMITS)
    assert found.destination.command({})["trash"] is True
    assert "trash" not in parsed(**keys).destination.command({})


def test_a_mirror_of_hdfs_on_a_machine_may_remove_and_keep() -> None:
    assert parsed("hdfs", "machine", delete=True, confirmDelete="without-dry-run", keepReplaced=".replaced")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/a//b", "has an empty name"),
        ("//a", "has an empty name"),
        ("/a/./b", "has '.' as a name"),
        ("/a/../b", "contains '..'"),
        ("/a/b:c", "has a ':'"),
        ("/.reserved", "is below /.reserved"),
        ("/.reserved/raw/a", "is below /.reserved"),
        ("/.reserved/", "is below /.reserved"),
    ],
)
def test_a_path_that_hdfs_would_not_take_is_refused_at_either_end(path: str, words: str) -> None:
    (problem,) = refused(hdfs_source(paths=["/good", path]), "machine")
    assert problem.startswith("$.source.paths[1]: ")
    assert f"'{path}'" in problem
    assert words in problem
    (problem,) = refused(hdfs_source(paths=["/good", {"path": path, "as": "here"}]), "machine")
    assert problem.startswith("$.source.paths[1].path: ")
    (problem,) = refused("machine", hdfs_destination(path=path))
    assert problem.startswith("$.destination.path: ")
    assert words in problem


@pytest.mark.parametrize("path", ["/", "/a/", "/a/.snapshot/s0/b", "/a/.hidden", "/a b/.reserved"])
def test_other_paths_are_taken_of_a_source_snapshots_too(path: str) -> None:
    assert parse_request({"source": hdfs_source(paths=[path]), "destination": MACHINES["destination"]}, LIMITS)


def test_nothing_is_written_into_a_snapshot() -> None:
    (problem,) = refused("machine", hdfs_destination(path="/a/.snapshot/s0"))
    assert problem.startswith("$.destination.path: '/a/.snapshot/s0' is in a snapshot")


@pytest.mark.parametrize("kind", ["machine", "hdfs"])
def test_nothing_lands_in_hdfs_under_a_name_that_it_does_not_take(kind: str) -> None:
    source = {**SOURCES[kind], "paths": [{"path": "/a", "as": "run/10:30"}, {"path": "/b", "as": ".snapshot"}]}
    problems = refused(source, "hdfs")
    assert [problem.partition(": ")[0] for problem in problems] == ["$.source.paths[0].as", "$.source.paths[1].as"]
    assert all(problem.endswith("give another path to land as") for problem in problems)


@pytest.mark.parametrize("path", ["/", "//", "/./"])
def test_nothing_lands_at_the_root_under_the_name_that_hdfs_keeps_there(path: str) -> None:
    source = {**SOURCES["machine"], "paths": [{"path": "/a", "as": ".reserved/raw"}, "/data/.reserved"]}
    apart = {**source, "paths": [source["paths"][0], "/data/b"]}
    problems = refused(source, hdfs_destination(path=path))
    kept = [problem for problem in problems if "keeps '/.reserved' for itself" in problem]
    assert [problem.partition(": ")[0] for problem in kept] == ["$.source.paths[0].as", "$.source.paths[1]"]
    assert all(problem.endswith("give another path to land as") for problem in kept)
    assert parse_request({"source": apart, "destination": hdfs_destination(path="/backup")}, LIMITS)


def test_a_path_of_a_machine_that_would_land_so_is_refused_and_gets_another_name() -> None:
    source = {**SOURCES["machine"], "paths": ["/data/10:30"]}
    (problem,) = refused(source, "hdfs")
    assert problem.startswith("$.source.paths[0]: it lands as '10:30', and HDFS takes no name with ':'")
    named = {**source, "paths": [{"path": "/data/10:30", "as": "10-30"}, "/data/of:many/"]}
    assert parse_request({"source": named, "destination": DESTINATIONS["hdfs"]}, LIMITS)
    assert len(refused(hdfs_source(paths=["/data/10:30"]), "hdfs")) == 1, "one path is told once"


@pytest.mark.parametrize(
    ("chunk", "block", "is_taken"),
    [(64, 128, False), ("64MiB", 128, False), (128, 128, True), (256, 128, True), (64, None, True), (None, 256, True)],
)
def test_chunks_are_whole_blocks(chunk: int | str | None, block: int | None, is_taken: bool) -> None:
    there = hdfs_destination(**({} if block is None else {"blockSizeMiB": block}))
    keys = {} if chunk is None else {"chunkSizeMiB": chunk}
    if is_taken:
        assert parse_request({"source": SOURCES["hdfs"], "destination": there, **keys}, LIMITS)
        return
    assert refused("hdfs", there, **keys) == [
        "$.chunkSizeMiB: 64, and $.destination is HDFS: its blockSizeMiB is 128, and chunks are whole blocks; give 128 "
        "or more, or a smaller blockSizeMiB"
    ]


@pytest.mark.parametrize(
    ("source", "destination", "words"),
    [
        ("hdfs", "hdfs", "$.destination.workers[1]: '{id}' is a worker of the source as well; name another instance "),
        (
            "hdfs",
            "machine",
            "$.destination.instanceId: '{id}' is a worker of the source as well; name another instance ",
        ),
        ("machine", "hdfs", "$.destination.workers[1]: '{id}' is the source as well; name another instance "),
    ],
)
def test_an_instance_is_at_one_end_alone(source: str, destination: str, words: str) -> None:
    there = dict(DESTINATIONS[destination])
    there |= {"instanceId": SOURCE_ID} if destination == "machine" else {"workers": [DESTINATION_ID, SOURCE_ID]}
    (problem,) = refused(source, there)
    assert problem.startswith(words.format(id=SOURCE_ID))
    by_hand = {"hdfs hdfs": "hdfs dfs -cp", "hdfs machine": "hdfs dfs -get", "machine hdfs": "hdfs dfs -put"}
    assert by_hand[f"{source} {destination}"] in problem


def test_no_more_workers_serve_than_a_transfer_can_name() -> None:
    assert parse_request({"source": hdfs_source(6), "destination": hdfs_destination(6)}, LIMITS)
    assert refused(hdfs_source(7), hdfs_destination(6)) == [
        "$.source.workers: source and destination have 13 machines together; name 12 in all at most"
    ]
    (problem,) = refused(hdfs_source(7), "bucket")
    assert problem.startswith("$.source.workers: 7 machines, and $.destination is a bucket")
    (problem,) = refused(hdfs_source(2), hdfs_destination(1), profile="measure")
    assert problem.endswith("; name one")
    assert parse_request({"source": hdfs_source(), "destination": hdfs_destination(), "profile": "measure"}, LIMITS)


def test_a_cluster_of_emr_stands_in_its_workers_place() -> None:
    for kinds in (("hdfs", "machine"), ("hdfs", "bucket"), ("machine", "hdfs"), ("hdfs", "hdfs")):
        asked = {"source": dict(SOURCES[kinds[0]]), "destination": dict(DESTINATIONS[kinds[1]])}
        for end, cluster_id in zip(asked.values(), (CLUSTER, OTHER_CLUSTER), strict=True):
            end |= {"clusterId": cluster_id} if end.pop("workers", None) else {}
        found = parse_request(asked, LIMITS)
        assert [end.kind for end in (found.source, found.destination)] == list(kinds)
        assert found.machine_sides == [side for side, kind in enumerate(kinds) if kind != "bucket"]
        assert found.source.to_document() == TransferRequest.from_document(asked).source.to_document()


def test_either_workers_or_their_cluster_are_named() -> None:
    assert refused({**hdfs_source(), "clusterId": CLUSTER}, "hdfs") == [
        f"$.source.clusterId: '{CLUSTER}', and $.source.workers names machines; leave one of them out"
    ]
    unnamed = {key: value for key, value in hdfs_destination().items() if key != "workers"}
    assert refused("hdfs", unnamed) == [
        "$.destination.workers: is missing; it is required, or clusterId with the id of a cluster of EMR"
    ]


def test_a_cluster_is_at_one_end_alone() -> None:
    (problem,) = refused(of_cluster(hdfs_source()), of_cluster(hdfs_destination()))
    assert problem.startswith(f"$.destination.clusterId: '{CLUSTER}' is the cluster of $.source as well; to copy")
    assert "hdfs dfs -cp or hadoop distcp" in problem


def test_there_is_room_for_one_worker_of_a_cluster() -> None:
    assert parse_request({"source": hdfs_source(11), "destination": of_cluster(hdfs_destination())}, LIMITS)
    assert refused(hdfs_source(12), of_cluster(hdfs_destination())) == [
        "$.source.workers: source and destination have 13 machines together; name 12 in all at most"
    ]


def test_a_region_of_workers_is_enrolled() -> None:
    (problem,) = refused(hdfs_source(region="ap-south-1"))
    assert problem.startswith("$.source.region: 'ap-south-1' is not enrolled")


DIFF = {"snapshotDiff": {"from": "s0", "to": "s1"}}


def test_what_changed_between_two_snapshots_is_in_each_command_that_lists_or_reads() -> None:
    found = parse_request({"source": {**SOURCES["hdfs"], **DIFF}, "destination": DESTINATIONS["hdfs"]}, LIMITS)
    assert found.source.command({})["snapshotDiff"] == {"from": "s0", "to": "s1"}
    assert TransferRequest.from_document(found.to_document()) == found


@pytest.mark.parametrize(
    ("source", "keys", "field", "words"),
    [
        (DIFF, {"delete": True, "confirmDelete": "without-dry-run"}, "delete", "all else would be removed"),
        ({"snapshotDiff": {"from": "s1", "to": "s1"}}, {}, "source.snapshotDiff.to", "name a later snapshot"),
        ({**DIFF, "paths": ["/a/.snapshot/s0/b"]}, {}, "source.paths[0]", "name its directory"),
    ],
)
def test_a_difference_of_snapshots_that_means_nothing_is_refused(
    source: dict[str, Any], keys: dict[str, Any], field: str, words: str
) -> None:
    (problem,) = refused({**SOURCES["hdfs"], **source}, "hdfs", **keys)
    assert problem.startswith(f"$.{field}: ")
    assert words in problem
