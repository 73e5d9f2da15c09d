"""Which error a state has when the engine gets no answer."""

from types import SimpleNamespace

import pytest
from botocore.exceptions import BotoCoreError, ConnectionClosedError, EndpointConnectionError

from local.patches.states.failures import _from_task_error

URL = "http://lambda.invalid"


@pytest.mark.parametrize("error", [ConnectionClosedError(endpoint_url=URL), EndpointConnectionError(endpoint_url=URL)])
def test_connection_that_breaks_is_what_the_retries_of_lambda_name(error: BotoCoreError) -> None:
    task = SimpleNamespace(_get_sfn_resource=lambda: "invoke", _get_sfn_resource_type=lambda: "lambda")
    env = SimpleNamespace(next_state_name="A", event_history_context=SimpleNamespace(source_event_id=1))
    failed = _from_task_error(task, env, error)
    assert failed.error_name.error_name == "Lambda.SdkClientException"
    details = failed.event_details["taskFailedEventDetails"]
    assert details["error"] == "Lambda.SdkClientException"
    assert URL in details["cause"]
