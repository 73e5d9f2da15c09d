"""versitygw's cases about S3, against the local cloud: which pass, and which do not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import urllib.request
from collections import Counter
from dataclasses import dataclass, field

# Calls that transfers make; cases on others are listed as not offered.
OFFERED = (
    "AbortMultipartUpload",
    "CompleteMultipartUpload",
    "CopyObject",
    "CreateMultipartUpload",
    "DeleteObject",
    "DeleteObjects",
    "GetObject",
    "GetObjectAttributes",
    "GetObjectTagging",
    "HeadObject",
    "ListMultipartUploads",
    "ListObjectsV2",
    "ListParts",
    "PutObject",
    "PutObjectTagging",
    "UploadPart",
    "UploadPartCopy",
)
# Cases of versitygw's own settings, of what its file systems cannot have and S3 can, or of locks, which transfers do
# not set; and one that ends its request before it has read the answer.
OF_ANOTHER_SERVER = (
    "data_integrity_etag",
    "acl_not_supported",
    "false_negative_object_names",
    "object_lock",
    "legal_hold",
    "CopyObject_with_special_characters",
)
CASE_SECONDS = 60
ACCOUNT = "000000000000"
"""The emulator takes an account's number for the key of its owner, and versitygw's cases the key for the number."""
_NAME = re.compile(r"^   (\w+)  +Runs \w+ integration test", re.MULTILINE)
_WORDS = re.compile(r"expected error message to be (.*), instead got (.*)")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Verdict:
    """How the cases went, by name."""

    passed: list[str] = field(default_factory=list)
    other_words: dict[str, str] = field(default_factory=dict)
    """The code and the status are right, and the message is another one than versitygw's."""
    failed: dict[str, str] = field(default_factory=dict)
    not_offered: list[str] = field(default_factory=list)

    def told(self) -> str:
        """Return the counts, and what is wrong."""
        offered = len(self.passed) + len(self.other_words) + len(self.failed)
        lines = [
            f"{len(self.passed)} of {offered} cases on calls that we offer pass; {len(self.other_words)} more but for "
            f"the words of an error; {len(self.failed)} fail; {len(self.not_offered)} are not offered"
        ]
        by_call = Counter(name.partition("_")[0] for name in self.not_offered)
        lines.append("not offered: " + ", ".join(f"{call} {count}" for call, count in sorted(by_call.items())))
        return "\n".join([*lines, *(f"{name}: {said}" for name, said in sorted(self.failed.items()))])


def program() -> str | None:
    """Return where versitygw is, if it is here: `VERSITYGW`, or on the path."""
    return os.environ.get("VERSITYGW") or shutil.which("versitygw")


def judge(versitygw: str, endpoint: str) -> Verdict:
    """Run each case on an emulator that was emptied before it: what one leaves behind makes the next ones fail."""
    verdict = Verdict()
    for name in sorted(set(_NAME.findall(_run([versitygw, "test", "--help"])[1]))):
        if name.partition("_")[0] not in OFFERED or any(part in name for part in OF_ANOTHER_SERVER):
            verdict.not_offered.append(name)
            continue
        empty = urllib.request.Request(f"{endpoint}/_ministack/reset", data=b"", method="POST")
        urllib.request.urlopen(empty, timeout=30).close()
        code, said = _run([versitygw, "test", "-a", ACCOUNT, "-s", "test", "-e", endpoint, name])
        if (code == 0 and "FAIL" not in said and "PASS" in said) or _lacks_a_full_stop(said):
            verdict.passed.append(name)
        elif "expected error message to be" in said and "expected error code" not in said:
            verdict.other_words[name] = said
        else:
            verdict.failed[name] = said[-300:].replace("\n", " ")
    return verdict


def _lacks_a_full_stop(said: str) -> bool:
    """Return whether a case fails for the full stop alone that versitygw's messages have and S3's have not."""
    words = _WORDS.search(said)
    return bool(words and words[1].rstrip(".") == words[2].rstrip("."))


def _run(command: list[str]) -> tuple[int, str]:
    # It does not run where AWS_CA_BUNDLE is set.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=CASE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, f"not done after {CASE_SECONDS} s"
    return done.returncode, _COLOURS.sub("", done.stdout + done.stderr)
