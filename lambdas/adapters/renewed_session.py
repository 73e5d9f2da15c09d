"""Requests to S3 by a session whose keys expire."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnectionError

from lambdas.adapters.copy_refusals import EXPIRED, PASSING, code_of, said
from lambdas.core.errors import Throttled

Held = TypeVar("Held")
Answer = TypeVar("Answer")


class RenewedSession(Generic[Held]):
    """One client or several, made anew by `renew` once their keys have expired. For several threads."""

    def __init__(self, renew: Callable[[], Held]) -> None:
        self._renew, self.held, self._lock = renew, renew(), Lock()

    def call(self, send: Callable[[Held], Answer]) -> Answer:
        """Send one request, again with new keys where these have expired; raises Throttled for what may pass."""
        held = self.held
        try:
            return _sent(held, send)
        except ClientError as error:
            if code_of(error) not in EXPIRED:
                raise
        with self._lock:
            if self.held is held:
                self.held = self._renew()
        return _sent(self.held, send)


def _sent(held: Held, send: Callable[[Held], Answer]) -> Answer:
    try:
        return send(held)
    except ClientError as error:
        # Without expedited capacity S3 answers 503, as it does where it is asked too much.
        if code_of(error) in PASSING:
            raise Throttled(f"S3 does not answer as it should, after all retries: {said(error)}") from error
        raise
    except (HTTPClientError, NoConnectionError) as error:
        raise Throttled(f"S3 does not answer, after all retries: {error}") from error
