"""The errors by which AWS asks a client to slow down, and by which it forbids a request."""

from botocore.exceptions import ClientError

from lambdas.core.errors import RetryLater

_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RateExceeded",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})


def is_throttled(code: str) -> bool:
    """Return whether this is one of the codes that say so."""
    return code in _THROTTLED


def is_throttle(error: Exception) -> bool:
    """Return whether a client says so, after its own retries."""
    return isinstance(error, ClientError) and error.response["Error"]["Code"] in _THROTTLED


def is_denied(error: Exception) -> bool:
    """Return whether an IAM permission is missing."""
    return isinstance(error, ClientError) and error.response["Error"]["Code"] in _DENIED


def is_absent(error: ClientError) -> bool:
    """Return whether an object is not there: S3 tells only those who may list the bucket; to others it is forbidden."""
    # An answer to HEAD has no body, so that its code is the status.
    return error.response["Error"]["Code"] in ("NoSuchKey", "404", "403") or is_denied(error)


def will_be_retried(error: Exception) -> bool:
    """Return whether the state machine runs the state again."""
    return isinstance(error, RetryLater) or is_throttle(error)
