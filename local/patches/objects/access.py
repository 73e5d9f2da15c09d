"""What S3 tells those who may not know.

AWS: a missing key is AccessDenied for whoever may not list it; DeleteObjects names the keys that its caller may not
delete, and deletes the others, at most a thousand, with a digest of its document; the number of an object's tags is
told to who may read them. Emulator: tells all, or refuses all.
"""

from __future__ import annotations

from typing import Any

from local.patches.iam.checks import caller_may, denial
from local.patches.iam.object_keys import arn
from local.patches.objects.copies import Source, source_of
from local.patches.replace import override
from local.patches.upstream import s3

_MOST_DELETED = 1000
_MALFORMED = "The XML you provided was not well-formed or did not validate against our published schema"


def install() -> None:
    """Hide and name by these rules."""
    dispatch, delete = s3._dispatch, s3._delete_objects

    def hiding(method: str, bucket: str, key: str, headers: dict[str, str], body: Any, query: dict[str, Any]) -> Any:
        answer = dispatch(method, bucket, key, headers, body, query)
        if answer[0] == 404 and key and method in ("GET", "HEAD"):
            return _hidden(bucket, key, answer)
        if answer[0] == 404 and "x-amz-copy-source" in headers and not isinstance(source_of(headers), Source):
            told = s3.url_unquote(headers["x-amz-copy-source"].partition("?")[0]).lstrip("/")
            of, _, what = told.partition("/")
            return _hidden(of, what, answer)
        if "x-amz-tagging-count" in answer[1] and not caller_may("s3:GetObjectTagging", arn(bucket, key)):
            answer[1].pop("x-amz-tagging-count")
        return answer

    def deleting(bucket: str, body: bytes, headers: dict[str, str]) -> Any:
        return _deleted(delete, bucket, body, headers)

    override(s3, _dispatch=hiding, _delete_objects=deleting)


def _hidden(bucket: str, key: str, answer: Any) -> Any:
    """Return the answer that a key is missing, or that whoever asks may not know."""
    names_a_key = not answer[2] or b"<Code>NoSuchKey</Code>" in answer[2]
    if not names_a_key or s3._ensure_bucket(bucket) is None:
        return answer
    if caller_may("s3:ListBucket", f"arn:aws:s3:::{bucket}", {"s3:prefix": key}):
        return answer
    return s3._error("AccessDenied", "Access Denied", 403, f"/{bucket}/{key}")


def _deleted(delete: Any, bucket: str, body: bytes, headers: dict[str, str]) -> Any:
    if s3._ensure_bucket(bucket) is None:
        return s3._no_such_bucket(bucket)
    if "content-md5" not in headers and not any(name.startswith("x-amz-checksum-") for name in headers):
        message = "Missing required header for this request: Content-MD5 OR x-amz-checksum-*"
        return s3._error("InvalidRequest", message, 400)
    try:
        root = s3.fromstring(body)
    except s3.ParseError:
        return s3._error("MalformedXML", _MALFORMED, 400)
    named = root.findall("{*}Object")
    if not 1 <= len(named) <= _MOST_DELETED or any(not one.findtext("{*}Key") for one in named):
        return s3._error("MalformedXML", _MALFORMED, 400)
    denied = []
    for one in named:
        action = "s3:DeleteObjectVersion" if one.findtext("{*}VersionId") else "s3:DeleteObject"
        if why := denial(action, arn(bucket, one.findtext("{*}Key"))):
            root.remove(one)
            denied.append((one, why))
    if not denied:
        return delete(bucket, body, headers)
    if len(denied) == len(named):
        status, answer, said = 200, {"Content-Type": "application/xml"}, b"<DeleteResult/>"
    else:
        status, answer, said = delete(bucket, s3.tostring(root), headers)
    told = s3.fromstring(said)
    for one, why in denied:
        words = {"Key": one.findtext("{*}Key"), "VersionId": one.findtext("{*}VersionId"), "Code": "AccessDenied"}
        error = s3.SubElement(told, "Error")
        for name, text in (words | {"Message": why}).items():
            if text:
                s3.SubElement(error, name).text = text
    return status, answer, s3._xml_body(told)
