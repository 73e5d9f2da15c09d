"""Calls that may name what is not there."""

from typing import Any

from botocore.exceptions import ClientError


def answer_of(call: Any, *absent: str, **arguments: Any) -> Any:
    """The answer; None where AWS says that there is no such thing: an error code that begins with one of `absent`."""
    try:
        return call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"].startswith(absent):
            return None
        raise
