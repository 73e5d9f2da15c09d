"""What AWS calls a request to slow down."""

from botocore.exceptions import ClientError

from lambdas.core.errors import RetryLater

_CODES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RateExceeded",
        "RequestLimitExceeded",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)


def is_throttle(error: Exception) -> bool:
    """Whether a client says so, after its own retries."""
    return isinstance(error, ClientError) and error.response["Error"]["Code"] in _CODES


def will_be_retried(error: Exception) -> bool:
    """Whether the state machine runs the state again."""
    return isinstance(error, RetryLater) or is_throttle(error)
