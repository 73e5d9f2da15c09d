"""Keys of a session expire while requests are sent."""

from collections.abc import Callable
from itertools import count
from threading import Barrier, Thread

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from lambdas.adapters.renewed_session import RenewedSession
from lambdas.core.errors import Throttled


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetObject")


def failing(error: Exception) -> Callable[[int], int]:
    def send(_: int) -> int:
        raise error

    return send


def session() -> RenewedSession[int]:
    """Its sessions are 1, 2, 3 …"""
    numbers = count(1)
    return RenewedSession(lambda: next(numbers))


def first_is_expired(held: int) -> int:
    if held == 1:
        raise refusal("ExpiredToken")
    return held


def test_a_request_whose_keys_have_expired_is_sent_again_with_new_ones() -> None:
    renewed = session()
    assert renewed.call(first_is_expired) == 2
    assert renewed.call(first_is_expired) == 2


def test_of_two_threads_whose_keys_have_expired_one_renews_them() -> None:
    renewed, together, answers = session(), Barrier(2), []

    def send(held: int) -> int:
        if held == 1:
            together.wait()
        return first_is_expired(held)

    threads = [Thread(target=lambda: answers.append(renewed.call(send))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (answers, renewed.held) == ([2, 2], 2)


def test_keys_that_expire_at_once_again_are_an_error() -> None:
    with pytest.raises(ClientError, match="ExpiredToken"):
        session().call(failing(refusal("ExpiredToken")))


def test_what_may_pass_is_throttled_and_any_other_refusal_is_the_callers() -> None:
    for error in (refusal("SlowDown"), EndpointConnectionError(endpoint_url="https://s3")):
        with pytest.raises(Throttled):
            session().call(failing(error))
    with pytest.raises(ClientError, match="AccessDenied"):
        session().call(failing(refusal("AccessDenied")))
