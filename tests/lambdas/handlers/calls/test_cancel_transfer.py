"""A person stops a transfer by a function of its own."""

import pytest

from lambdas.core.errors import NoSuchTransfer
from lambdas.handlers.calls.cancel_transfer import CancelRequest, cancel_transfer
from tests.lambdas.builders import transfer
from tests.lambdas.cloud import Cloud


def test_one_that_runs_is_stopped_once_and_keeps_the_reason() -> None:
    cloud = Cloud()
    accepted = transfer()
    cloud.transfers.create(accepted)
    request = CancelRequest(transfer_id=accepted.transfer_id, reason="wrong directory")
    assert cancel_transfer(request, cloud.world)["cancelled"] is True
    assert cloud.executions.stopped[accepted.execution_arn] == ("Cancelled", "wrong directory")
    assert cancel_transfer(request, cloud.world)["cancelled"] is False


def test_a_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(NoSuchTransfer):
        cancel_transfer(CancelRequest(transfer_id="absent"), Cloud().world)
