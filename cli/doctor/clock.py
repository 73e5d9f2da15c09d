"""This machine's clock against AWS's: calls are signed with the time."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from cli.aws import Aws
from cli.doctor.finding import Finding, Findings, failed, ok, warning

# AWS refuses calls that are signed so far from its own time.
REFUSED_SECONDS = 300
LATE_SECONDS = 30
_REMEDY = "set the clock, e.g. with chrony or systemd-timesyncd"


def clock(aws: Aws) -> Findings:
    """Judge the clock by the date of an answer, whose second is cut off and which was under way."""
    answer = aws.client("sts").get_caller_identity()
    here = datetime.now(UTC)
    yield judge((here - parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])).total_seconds())


def judge(seconds: float) -> Finding:
    """`seconds`: how far this machine is ahead."""
    off = f"{abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'} AWS"
    if abs(seconds) >= REFUSED_SECONDS:
        return failed("clock", "this machine", f"{off}; AWS refuses calls from {REFUSED_SECONDS} s on", _REMEDY)
    if abs(seconds) >= LATE_SECONDS:
        return warning("clock", "this machine", f"{off}; from {REFUSED_SECONDS} s on AWS refuses calls", _REMEDY)
    return ok("clock", "this machine", f"within {LATE_SECONDS} s of AWS")
