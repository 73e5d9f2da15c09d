import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lambdas.core.ends.allowed_buckets import AllowedBucket
from lambdas.core.record import transfer_life
from lambdas.core.seats.credentials import SealingKey, sealing_info
from lambdas.core.seats.epochs import first_epoch
from lambdas.core.seats.liveness import Seats
from lambdas.handlers.reactions.issue_credentials import issue_credentials
from lambdas.operations.fence import fence
from lambdas.operations.seats.sealing import SUITE
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SHARED, delivered, transfer
from tests.lambdas.cloud import Cloud

BUCKET = {"kind": "bucket", "bucket": "my-data", "prefix": "backup/", "region": IRELAND}
PROCESS = "0123456789abcdef"
HOLDER = f"r0-{PROCESS}"


class Scene:
    """A transfer into a bucket, whose seat has published a key."""

    def __init__(self, *allowed: str, **changes: Any) -> None:
        words = allowed or ("rw eu-west-1 my-data/",)
        self.cloud = Cloud(buckets=tuple(map(AllowedBucket.parse, words)))
        self.transfer = transfer(**{"destination": BUCKET, **changes})
        self.cloud.transfers.create(self.transfer)
        self.key = X25519PrivateKey.generate()
        self.publish("r0")

    def publish(self, seat: str, start: int | None = 1) -> None:
        public = self.key.public_key().public_bytes_raw()
        key = SealingKey(public, None if start is None else first_epoch(start))
        self.cloud.agents.sealing_keys[SHARED, f"{seat}-{PROCESS}"] = key

    def note(self, seats: Seats) -> None:
        assert self.cloud.transfers.change(self.transfer, transfer_life.note(seats=seats))

    def ask(self, seat: str = "r0", transfer_id: str = "first") -> dict[str, Any]:
        body = {"schemaVersion": 1, "type": "Credentials Wanted", "transferId": transfer_id, "seat": seat}
        detail = {**body, "process": PROCESS}
        event = {"detail-type": "Credentials Wanted", "source": "cpt.agent", "detail": detail}
        return issue_credentials(BusEvent.from_document(event), self.cloud.world)

    def opened(self, seat: str = "r0") -> dict[str, Any]:
        holder = f"{seat}-{PROCESS}"
        sealed = self.cloud.agents.credentials[SHARED, holder].sealed
        assert sealed is not None
        box = urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        found: dict[str, Any] = json.loads(SUITE.decrypt(box, self.key, sealing_info(SHARED, holder)))
        return found


def test_a_process_gets_keys_for_an_hour_that_nobody_else_can_read() -> None:
    scene = Scene()
    assert scene.ask() == {"issued": HOLDER}
    assert scene.opened() == {
        "accessKeyId": "ASIASECRET-1",
        "secretAccessKey": "secret-key-1",
        "sessionToken": "secret-token-1",
        "expiresAt": 4600.0,
    }
    [(role, name, policy, seconds)] = scene.cloud.sessions.asked
    assert (role, name, seconds) == ("arn:aws:iam::000000000000:role/cpt-buckets", "receiver-first", 3600)
    assert policy["Statement"][0]["Resource"] == "arn:aws:s3:::my-data/backup/*"
    scene.key = X25519PrivateKey.generate()
    with pytest.raises(InvalidTag):
        scene.opened()


def test_a_sealed_text_counts_for_its_holder_and_transfer_alone() -> None:
    scene = Scene()
    scene.ask()
    scene.cloud.agents.credentials[SHARED, f"s0-{PROCESS}"] = scene.cloud.agents.credentials[SHARED, HOLDER]
    with pytest.raises(InvalidTag):
        scene.opened("s0")


def test_a_source_gets_what_reads_and_a_mirror_what_removes() -> None:
    there = {"instanceId": DESTINATION_ID, "region": IRELAND, "path": "/restore"}
    scene = Scene("r eu-west-1 my-data/", source=BUCKET, destination=there)
    scene.publish("s0")
    assert scene.ask("s0") == {"issued": f"s0-{PROCESS}"}
    assert scene.cloud.sessions.asked[0][2]["Statement"][0]["Action"] == ["s3:GetObject", "s3:GetObjectVersion"]
    mirror = Scene("rwd eu-west-1 my-data/", delete=True, confirmDelete="without-dry-run")
    assert mirror.ask() == {"issued": HOLDER}
    assert "s3:DeleteObject" in mirror.cloud.sessions.asked[0][2]["Statement"][0]["Action"]


def test_a_dry_run_writes_nothing_but_what_its_survey_tries() -> None:
    scene = Scene("rwd eu-west-1 my-data/", delete=True, dryRun=True)
    assert scene.ask() == {"issued": HOLDER}
    objects, listing, probe = scene.cloud.sessions.asked[0][2]["Statement"]
    assert (objects["Action"], listing["Action"]) == (["s3:GetObject", "s3:GetObjectVersion"], "s3:ListBucket")
    assert probe["Action"] == ["s3:PutObject", "s3:AbortMultipartUpload"]
    assert probe["Resource"] == "arn:aws:s3:::my-data/backup/.cpt-partial-survey"


def test_a_dry_run_from_a_bucket_tries_nothing() -> None:
    there = {"instanceId": DESTINATION_ID, "region": IRELAND, "path": "/restore"}
    scene = Scene("r eu-west-1 my-data/", source=BUCKET, destination=there, dryRun=True)
    scene.publish("s0")
    assert scene.ask("s0") == {"issued": f"s0-{PROCESS}"}
    assert len(scene.cloud.sessions.asked[0][2]["Statement"]) == 2


def test_who_has_fresh_keys_gets_no_others_and_shortly_before_their_end_new_ones() -> None:
    scene = Scene()
    scene.ask()
    scene.cloud.clock.sleep(2000)
    assert scene.ask() == {"known": HOLDER}
    scene.cloud.clock.sleep(700)  # a quarter of an hour before the end
    assert scene.ask() == {"issued": HOLDER}
    assert scene.opened()["accessKeyId"] == "ASIASECRET-2"


def test_a_transfer_that_does_not_run_gets_nothing() -> None:
    scene = Scene()
    assert scene.ask(transfer_id="unknown") == {"ignored": "the transfer does not run"}
    assert fence(scene.cloud.world, scene.transfer)
    assert scene.ask() == {"ignored": "the transfer does not run"}
    assert scene.cloud.sessions.asked == []


def test_when_all_has_arrived_a_mirrors_receiver_alone_gets_keys_until_it_is_taken_down() -> None:
    plain = Scene()
    plain.cloud.transfers.change(plain.transfer, transfer_life.finish(delivered()))
    assert plain.ask() == {"ignored": "the transfer does not run"}
    mirror = Scene("rwd eu-west-1 my-data/", delete=True, confirmDelete="without-dry-run")
    mirror.cloud.transfers.change(mirror.transfer, transfer_life.finish(delivered()))
    assert mirror.ask() == {"issued": HOLDER}
    assert fence(mirror.cloud.world, mirror.transfer)
    mirror.cloud.clock.sleep(3600)
    assert mirror.ask() == {"ignored": "the transfer does not run"}


@pytest.mark.parametrize("seat", ["s0", "r1", "s1"])
def test_a_seat_that_is_no_buckets_gets_nothing(seat: str) -> None:
    scene = Scene()
    scene.publish(seat)
    assert scene.ask(seat) == {"ignored": f"{seat} is no bucket's seat of it"}
    assert scene.cloud.sessions.asked == []


def test_a_daemon_whose_successor_is_ordered_gets_nothing() -> None:
    scene = Scene()
    begun = Seats.begun(1, 1000.0, ["s0", "r0"])
    scene.note(begun)
    assert scene.ask() == {"issued": HOLDER}
    scene.cloud.clock.sleep(2800)
    scene.note(begun.restarted("r0", 2, 1001.0).model_copy(update={"version": 1}))
    assert scene.ask() == {"ignored": "start 1 asks, and 2 is the present one"}
    scene.publish("r0", 2)
    assert scene.ask() == {"issued": HOLDER}


def test_a_daemon_of_an_earlier_run_gets_nothing() -> None:
    scene = Scene()
    scene.publish("r0", 0)
    assert scene.ask() == {"ignored": "start 0 asks, and 1 is the present one"}
    assert scene.cloud.sessions.asked == []


def test_a_scan_is_of_no_start() -> None:
    scene = Scene()
    scene.note(Seats.begun(3, 1000.0, ["s0", "r0"]))
    scene.publish("r0", None)
    assert scene.ask() == {"issued": HOLDER}


def test_who_has_published_no_key_gets_nothing() -> None:
    scene = Scene()
    scene.cloud.agents.sealing_keys.clear()
    assert scene.ask() == {"ignored": f"{HOLDER} has published no key"}
    assert scene.cloud.sessions.asked == []


def test_what_the_settings_do_not_allow_is_said_to_whoever_waits() -> None:
    scene = Scene("r eu-west-1 my-data/")
    assert "may not write below s3://my-data/backup/" in scene.ask()["refused"]
    issued = scene.cloud.agents.credentials[SHARED, HOLDER]
    assert issued.sealed is None
    assert "may not write" in (issued.refused or "")
    assert scene.cloud.sessions.asked == []


def test_a_role_that_cannot_be_had_is_said_to_whoever_waits_and_asked_for_again() -> None:
    scene = Scene()
    scene.cloud.sessions.missing = "cpt-buckets cannot be assumed"
    assert scene.ask() == {"refused": "cpt-buckets cannot be assumed"}
    scene.cloud.sessions.missing = None
    assert scene.ask() == {"issued": HOLDER}


def test_no_secret_is_in_what_the_function_says(capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene()
    said = f"{scene.ask()}{scene.cloud.agents.credentials}{scene.cloud.events.put_events}{capsys.readouterr()}"
    assert not any(word in said for word in ("ASIASECRET", "secret-key", "secret-token"))
