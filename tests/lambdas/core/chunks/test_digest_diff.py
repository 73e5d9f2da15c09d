from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.chunks.digest_diff import MOST_WAITING, Digest, compare

trees = st.dictionaries(st.integers(0, 50), st.sampled_from(["aa", "bb"]), max_size=30)


@given(trees, trees, st.randoms())
def test_comparison_equals_that_of_whole_dictionaries(a: dict[int, str], b: dict[int, str], random: object) -> None:
    left, right = [Digest(*item) for item in a.items()], [Digest(*item) for item in b.items()]
    random.shuffle(right)  # type: ignore[attr-defined]
    found = compare(iter(left), iter(right))
    both = a.keys() & b.keys()
    assert found.equal == sum(a[key] == b[key] for key in both)
    assert sorted(found.different) == sorted(key for key in both if a[key] != b[key])[:20] or len(found.different) == 20
    assert found.sender_only == sorted(a.keys() - b.keys())[:20]
    assert found.receiver_only == sorted(b.keys() - a.keys())[:20]
    assert found.clean == (a == b)


def test_an_end_that_lacks_everything_is_found_before_memory_is_full() -> None:
    read = 0

    def endless() -> Iterator[Digest]:
        nonlocal read
        while True:
            read += 1
            yield Digest(read, "aa")

    found = compare(endless(), iter([]))
    assert found.sender_only == list(range(1, 21))
    assert read == MOST_WAITING + 1
