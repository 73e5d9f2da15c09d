"""The daily sweep's answer; what is removed when is in tests/lambdas/operations/test_leftovers.py."""

import pytest

from lambdas.core.errors import MissingPermission
from lambdas.handlers.reactions.sweep_uploads import sweep_uploads
from tests.lambdas.operations.test_leftovers import DAILY, DAY, ended, scene


def test_it_says_what_was_removed_of_which_transfer_and_has_nothing_to_do_the_next_time() -> None:
    cloud = scene()
    assert sweep_uploads(DAILY, cloud.world) == {"due": 0, "removed": {}}
    ended(cloud)
    cloud.clock.sleep(cloud.world.env.chunk_retention_seconds + DAY)
    assert sweep_uploads(DAILY, cloud.world) == {"due": 1, "removed": {"first": {"uploads": 2, "notes": 1}}}
    assert sweep_uploads(DAILY, cloud.world) == {"due": 0, "removed": {}}


def test_one_that_fails_keeps_no_other_one_from_being_swept() -> None:
    cloud = scene()
    ended(cloud)
    cloud.objects.put("unfinished/1970-01-01/unknown", b"")
    cloud.clock.sleep(cloud.world.env.chunk_retention_seconds + DAY)
    cloud.leftovers.refusal = MissingPermission("s3:ListBucketMultipartUploads")
    with pytest.raises(MissingPermission):
        sweep_uploads(DAILY, cloud.world)
    assert [key.rpartition("/")[2] for key in cloud.objects.keys("unfinished/")] == ["first"]
