"""Buckets over a scripted S3."""

import pytest

from lambdas.adapters.bucket_copies import S3Buckets
from tests.lambdas.adapters.scripted_s3 import Script, opened


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    # The client's own waits between attempts.
    monkeypatch.setattr("botocore.retries.standard.RetryHandler._do_get_exponential_backoff", None, raising=False)
    monkeypatch.setattr("time.sleep", lambda _: None)
    return Script()


@pytest.fixture
def buckets(script: Script) -> S3Buckets:
    return opened(script, {})
