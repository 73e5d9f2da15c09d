"""Chunks cover every byte once, whatever the listing."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.chunks import plan
from lambdas.core.chunks.plan import MIB, ListedEntry, ManifestPart, PlacedChunk

PART = 1024
CONTRACTS = Path(__file__).parents[4] / "contracts"


def entry(kind: str, size: int, depth: int, number: int) -> dict[str, Any]:
    path = "/".join(["d"] * depth + [f"e{number}"])
    return {
        "path": path,
        "source": f"/{path}",
        "kind": kind,
        "size": size,
        "mode": 0o644,
        "mtimeNs": 1,
        "inode": number,
    }


listings = st.lists(
    st.tuples(
        st.sampled_from(["file", "file", "file", "directory", "symlink"]),
        st.one_of(st.integers(0, 3 * PART), st.just(PART), st.just(2 * PART)),
        st.integers(0, 4),
    ),
    max_size=60,
).map(
    lambda shapes: [
        entry(kind, size if kind == "file" else 0, depth, i) for i, (kind, size, depth) in enumerate(shapes)
    ]
)


def listed(entries: Iterable[dict[str, Any]]) -> Iterator[ListedEntry]:
    """The entries as `cpt-relay scan` writes them."""
    return (ListedEntry(number, json.dumps(found).encode()) for number, found in enumerate(entries))


def chunks_of(entries: list[dict[str, Any]]) -> Iterator[plan.PlannedChunk]:
    yield from plan.plan_chunks(listed(entries), PART)
    yield from plan.plan_directories(reversed(list(listed(entries))))


def planned(entries: list[dict[str, Any]]) -> list[tuple[plan.PlannedChunk, list[dict[str, Any]]]]:
    return [(c, [json.loads(line) for line in c.lines.splitlines()]) for c in chunks_of(entries)]


def test_a_listing_is_cut_as_the_golden_example_says() -> None:
    example = json.loads((CONTRACTS / "planning.json").read_text())
    entries = [
        entry(found["kind"], found["size"], 0, number) | {"path": found["path"]}
        for number, found in enumerate(example["listing"])
    ]
    assert example["partBytes"] == PART
    cut = [
        {
            "phase": chunk.phase,
            "bytes": chunk.bytes,
            "files": chunk.files,
            "segments": [[line["entry"], line["offset"], line["length"]] for line in lines],
        }
        for chunk, lines in planned(entries)
    ]
    assert cut == example["chunks"]


@given(listings)
def test_every_byte_of_every_entry_is_covered_exactly_once(entries: list[dict[str, Any]]) -> None:
    covered: dict[int, list[tuple[int, int]]] = {}
    for chunk, segments in planned(entries):
        assert chunk.bytes == sum(segment["length"] for segment in segments)
        for segment in segments:
            covered.setdefault(segment["entry"], []).append((segment["offset"], segment["length"]))
            assert segment["path"] == entries[segment["entry"]]["path"]
    assert set(covered) == set(range(len(entries)))
    for number, spans in covered.items():
        position = 0
        for offset, length in sorted(spans):
            assert offset == position
            position += length
        assert position == entries[number]["size"]


@given(listings)
def test_parts_of_large_files_are_alone_and_aligned(entries: list[dict[str, Any]]) -> None:
    for chunk, segments in planned(entries):
        for segment in segments:
            if segment["length"] < segment["size"]:
                assert len(segments) == 1
                assert segment["offset"] % PART == 0
                assert segment["length"] == min(PART, segment["size"] - segment["offset"])
        assert chunk.bytes <= PART


@given(listings)
def test_completed_entries_are_counted_once_each(entries: list[dict[str, Any]]) -> None:
    assert sum(chunk.files for chunk, _ in planned(entries)) == len(entries)


@given(listings)
def test_directories_come_last_and_after_all_that_they_hold(entries: list[dict[str, Any]]) -> None:
    found = planned(entries)
    phases = [chunk.phase for chunk, _ in found]
    assert phases == sorted(phases)
    last = [segment for chunk, segments in found if chunk.phase == 1 for segment in segments]
    assert all(segment["kind"] == "directory" for segment in last)
    numbers = [segment["entry"] for segment in last]
    assert numbers == sorted(numbers, reverse=True)
    assert all(s["kind"] != "directory" for chunk, segments in found if chunk.phase == 0 for s in segments)


def test_bundles_hold_at_most_two_thousand_entries() -> None:
    found = planned([entry("file", 0, 0, i) for i in range(4500)] + [entry("directory", 0, 0, i) for i in range(2001)])
    assert [len(segments) for _, segments in found] == [2000, 2000, 500, 2000, 1]


def test_bundles_of_long_names_are_cut_by_the_size_of_their_lines() -> None:
    long = [{**entry("file", 0, 0, i), "path": f"{i}" + "x" * 100_000} for i in range(40)]
    assert max(len(chunk.lines) for chunk, _ in planned(long)) < 2 * plan.MAX_BUNDLE_LINES_BYTES


def test_planning_is_lazy() -> None:
    def endless() -> Any:
        number = 0
        while True:
            yield entry("file", 700, 0, number)
            number += 1

    source = plan.place(plan.plan_chunks(listed(endless()), PART), 1_000)
    seen = [next(source) for _ in range(10)]
    assert any(isinstance(item, ManifestPart) for item in seen)


@given(listings, st.integers(1, 5_000))
def test_manifest_ranges_hold_exactly_the_chunks_lines(entries: list[dict[str, Any]], part_bytes: int) -> None:
    chunks = list(chunks_of(entries))
    placed = list(plan.place(iter(chunks), part_bytes))
    parts = {item.number: item.body for item in placed if isinstance(item, ManifestPart)}
    items = [item for item in placed if isinstance(item, PlacedChunk)]
    assert [item.chunk for item in items] == list(range(len(chunks)))
    for item, chunk in zip(items, chunks, strict=True):
        assert parts[item.part][item.start : item.end] == chunk.lines
    used = Counter(item.part for item in items)
    assert set(used) == set(parts)


def test_automatic_chunk_size_leaves_forty_eight_chunks_per_lane() -> None:
    assert plan.chunk_size(0, 2, None) == MIB
    assert plan.chunk_size(600 * MIB, 1, None) == 8 * MIB
    assert plan.chunk_size(600 * MIB, 6, None) == 2 * MIB
    assert plan.chunk_size(1 << 50, 2, None) == 64 * MIB
    assert plan.chunk_size(1, 2, 256) == 256 * MIB


def test_chunks_between_regions_are_for_the_lanes_that_long_paths_grow() -> None:
    assert plan.lanes_to_plan_for(2, 3, between_regions=False) == 6
    assert plan.lanes_to_plan_for(1, 1, between_regions=True) == 6
    assert plan.chunk_size(1 << 30, 6, None) == 2 * MIB, "16 lanes have 32 each"
    assert plan.lanes_to_plan_for(1, 9, between_regions=True) == 22, "64 lanes, on whichever paths"
    assert plan.lanes_to_plan_for(4, 9, between_regions=True) == 36


@given(st.integers(0, 1 << 45), st.integers(1, 130))
def test_automatic_chunk_size_is_a_power_of_two_within_bounds(size: int, lanes: int) -> None:
    found = plan.chunk_size(size, lanes, None)
    assert found & (found - 1) == 0
    assert MIB <= found <= 64 * MIB
    assert found == MIB or size >= 3 * lanes * found


def test_a_path_begins_with_as_many_lanes_as_flows_of_5_gbit_fill_it() -> None:
    assert plan.lanes_per_path(625.0, 1 << 40, 1) == 1
    assert plan.lanes_per_path(626.0, 1 << 40, 1) == 2
    assert plan.lanes_per_path(6250.0, 1 << 40, 1) == 10
    assert plan.lanes_per_path(0.0, 0, 0) == 1


def test_small_files_get_a_second_lane() -> None:
    assert plan.lanes_per_path(20.0, 10_000 * 10_240, 10_000) == 2
    assert plan.lanes_per_path(20.0, 10_000 << 20, 10_000) == 1
