"""What S3's errors mean for copies between buckets, in words that say what to correct."""

from typing import NoReturn

from botocore.exceptions import ClientError

from lambdas.core.copies.outcome import NotCopied, Taken, UploadGone
from lambdas.core.ends.bucket_refusals import is_known, remedy_of
from lambdas.core.errors import SurveyProblem

GONE = frozenset({"404", "NoSuchKey", "NoSuchVersion", "405", "MethodNotAllowed"})
FAILED_CONDITION = frozenset({"412", "PreconditionFailed"})
CONFLICT = frozenset({"ConditionalRequestConflict", "OperationAborted"})
NO_UPLOAD = frozenset({"NoSuchUpload", "InvalidPart", "InvalidPartOrder"})
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
# Of which the same request may pass a moment later; clients have tried again by then.
PASSING = frozenset({"500", "503", "InternalError", "ServiceUnavailable", "SlowDown", "RequestTimeout", "BadDigest"})


def code_of(error: ClientError) -> str:
    """S3's code, or the status of an answer without a body."""
    return str(error.response["Error"]["Code"])


def said(error: ClientError) -> str:
    """Code and message."""
    return f"{code_of(error)}: {error.response['Error'].get('Message', '')}"[:300]


def problem(side: str, where: str, what: str, words: str) -> str:
    """A line for people: the key to correct, its value, what S3 says, what would be right."""
    remedy = remedy_of(words)
    # A source has no key in the request: its objects are under theirs.
    field = "bucket" if side == "source" and remedy.field not in ("bucket", "region") else remedy.field
    return f"$.{side}.{field}: '{where}' cannot be {what}: {words.rstrip('. ')}; {remedy.text}"


def refuse_bucket(side: str, where: str, what: str, error: ClientError) -> NoReturn:
    """End the transfer: what S3 refuses now, it refuses of all objects."""
    raise SurveyProblem(problem(side, where, what, said(error))) from error


def _of_object(error: ClientError) -> str:
    words = said(error)
    return f"{words.rstrip('. ')}; {remedy_of(words).text}" if is_known(words) else words


def refuse_source(error: ClientError) -> NoReturn:
    """Name what the source does not give."""
    code = code_of(error)
    if code in FAILED_CONDITION:
        raise NotCopied("source-changed", "it was replaced after it was listed") from error
    if code in GONE:
        raise NotCopied("source-changed", "it is gone") from error
    raise NotCopied("source-unreadable", _of_object(error)) from error


def refuse_destination(error: ClientError) -> NoReturn:
    """Name why a write has not happened."""
    code = code_of(error)
    if code in FAILED_CONDITION or code in CONFLICT:
        raise Taken(said(error)) from error
    if code in NO_UPLOAD:
        raise UploadGone(said(error)) from error
    if code in GONE:
        raise NotCopied("source-changed", "it is gone") from error
    if code == "InvalidObjectState":
        raise NotCopied("source-unreadable", "it is archived; restore it first") from error
    raise NotCopied("destination-refused", _of_object(error)) from error
