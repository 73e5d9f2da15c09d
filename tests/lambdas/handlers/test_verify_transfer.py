import json

import pytest

from lambdas.core.errors import VerificationFailed
from lambdas.handlers.verify_transfer import VerifyInput, verify_transfer
from tests.lambdas.builders import chunk, plan, transfer
from tests.lambdas.cloud import Cloud


def prepared(sender: dict[int, str], receiver: dict[int, str], states: list[str]) -> tuple[Cloud, VerifyInput]:
    cloud = Cloud()
    cloud.chunks.put_all(chunk(number, state=state) for number, state in enumerate(states))
    for side, digests in (("sender", sender), ("receiver", receiver)):
        lines = [json.dumps({"entry": entry, "digest": digest}) for entry, digest in digests.items()]
        half = len(lines) // 2
        for part, some in enumerate((lines[:half], lines[half:])):
            key = f"transfers/first/digests/{side}/part-{part:05d}.ndjson"
            cloud.objects.put(key, "\n".join([*some, ""]).encode())
    return cloud, VerifyInput(transfer=transfer(), plan=plan(chunks=len(states), files=3))


GOOD = {0: "aa", 1: "bb", 5: "cc"}


def test_equal_digests_in_any_order_verify() -> None:
    cloud, event = prepared(GOOD, dict(reversed(GOOD.items())), ["DELIVERED"] * 2)
    assert verify_transfer(event, cloud.world) == {"verified": True, "files": 3}


def test_late_checkpoint_is_waited_for() -> None:
    cloud, event = prepared(GOOD, GOOD, ["DELIVERED", "PENDING"])
    cloud.clock.at(3, lambda: cloud.chunks.put_all([chunk(1, state="DELIVERED")]))
    assert verify_transfer(event, cloud.world)["verified"]


@pytest.mark.parametrize(
    ("receiver", "states", "words"),
    [
        (GOOD, ["DELIVERED", "FAILED"], r"not delivered: 1 \(FAILED, attempt 1\)"),
        ({**GOOD, 1: "xx"}, ["DELIVERED"], r"digests differ: \[1\]"),
        ({0: "aa", 1: "bb"}, ["DELIVERED"], r"sender only: \[5\]"),
        ({**GOOD, 7: "dd"}, ["DELIVERED"], r"receiver only: \[7\]"),
    ],
)
def test_whatever_differs_is_named(receiver: dict[int, str], states: list[str], words: str) -> None:
    cloud, event = prepared(GOOD, receiver, states)
    with pytest.raises(VerificationFailed, match=words):
        verify_transfer(event, cloud.world)


def test_missing_digests_of_both_ends_do_not_pass() -> None:
    cloud, event = prepared({0: "aa"}, {0: "aa"}, ["DELIVERED"])
    with pytest.raises(VerificationFailed, match="1 files have digests at both ends, the plan has 3"):
        verify_transfer(event, cloud.world)
