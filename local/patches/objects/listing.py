"""ListMultipartUploads.

AWS: puts uploads whose keys share what comes before a delimiter into one common prefix, tells the algorithm of each,
and goes on behind a marker in the order of keys and beginnings. Emulator: knows neither prefixes nor algorithms.
"""

from __future__ import annotations

from typing import Any

from local.patches.replace import override
from local.patches.upstream import s3


def install() -> None:
    """List by these rules."""
    override(s3, _list_multipart_uploads=_list)


def _list(bucket: str, query: dict[str, Any]) -> Any:
    if s3._ensure_bucket(bucket) is None:
        return s3._no_such_bucket(bucket)
    names = ("prefix", "delimiter", "key-marker", "upload-id-marker", "encoding-type")
    prefix, delimiter, after, after_id, encoding = (s3._qp(query, name) for name in names)
    most = int(s3._qp(query, "max-uploads") or 1000)
    found = sorted(
        ((upload["key"], upload["created"], one) for one, upload in s3._multipart_uploads.items()),
        key=lambda told: (told[0].encode(), told[1:]),
    )
    mine = [told for told in found if s3._multipart_uploads[told[2]]["bucket"] == bucket and told[0].startswith(prefix)]
    if after and after_id:
        # A key that has no uploads may come with an upload of another one, which stands for its place.
        of_key = [one for key, _, one in mine if key == after]
        if after_id not in (of_key or [one for _, _, one in mine]):
            return s3._error("InvalidArgument", "Invalid uploadId marker", 400)
        place = next(number for number, told in enumerate(mine) if told[2] == after_id)
        mine = mine[place + 1 :]
    elif after:
        mine = [told for told in mine if told[0].encode() > after.encode()]
    rows: dict[str, str] = {}
    """Upload ids, and common prefixes with nothing, in their order; the value is a row's key."""
    for key, _, upload_id in mine:
        head, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
        if not cut:
            rows[upload_id] = key
        elif not (after and f"{prefix}{head}{cut}" <= after):
            rows[f"/{prefix}{head}{cut}"] = f"{prefix}{head}{cut}"
    page = list(rows.items())[:most]
    root = s3.Element("ListMultipartUploadsResult", xmlns=s3.S3_NS)
    written = s3._url_encode if encoding == "url" else str
    told = {"Bucket": bucket, "KeyMarker": written(after), "UploadIdMarker": after_id, "MaxUploads": str(most)}
    told |= {"Prefix": written(prefix)} if prefix else {}
    told |= {"Delimiter": written(delimiter)} if delimiter else {}
    told |= {"EncodingType": encoding} if encoding else {}
    is_truncated = len(rows) > len(page) > 0
    if is_truncated:
        last, key = page[-1]
        told |= {"NextKeyMarker": written(key), "NextUploadIdMarker": "" if last.startswith("/") else last}
    for name, text in (told | {"IsTruncated": str(is_truncated).lower()}).items():
        s3.SubElement(root, name).text = text
    for row, key in page:
        if row.startswith("/"):
            s3.SubElement(s3.SubElement(root, "CommonPrefixes"), "Prefix").text = written(key)
        else:
            _upload(root, row, written(key))
    return 200, {"Content-Type": "application/xml"}, s3._xml_body(root)


def _upload(root: Any, upload_id: str, key: str) -> None:
    upload, element = s3._multipart_uploads[upload_id], s3.SubElement(root, "Upload")
    told = {"Key": key, "UploadId": upload_id, "StorageClass": upload.get("storage_class") or "STANDARD"}
    told["Initiated"] = upload["created"]
    if upload["checksum_algorithm"]:
        told |= {"ChecksumAlgorithm": upload["checksum_algorithm"], "ChecksumType": upload["checksum_type"]}
    for name, text in told.items():
        s3.SubElement(element, name).text = text
    for who, identity in (("Initiator", upload.get("initiator")), ("Owner", None)):
        s3.SubElement(s3.SubElement(element, who), "ID").text = identity or s3._canonical_owner_id()
