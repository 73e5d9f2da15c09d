"""Copies between two buckets, for people: what S3 copied, what proved it, and what it took."""

from typing import Any

from lambdas.core.copies.summary import Copies
from lambdas.core.words import dollars, duration, many, size


def sentences(report: dict[str, Any]) -> list[str]:
    """One a line; none where the report is of another kind of transfer."""
    if report.get("copies") is None:
        return []
    copies = Copies.from_document(report["copies"])
    if (report.get("request") or {}).get("dryRun"):
        return _dry_run(copies)
    seconds, cost = report["seconds"], report["cost"]
    verified = "yes" if report["verified"] else "no"
    requests = sum(copies.requests.values())
    return [
        f"{size(copies.bytes)} in {many(copies.objects, 'object')}, copied by S3; verified: {verified}",
        *([copies.in_words] if copies.in_words else []),
        f"{duration(seconds['transfer'])} of copies at {report['rateMBps']:,.1f} MB/s, all done after "
        f"{duration(seconds['total'])}",
        f"{many(requests, 'request')} to S3, {many(copies.transitions, 'state transition')}, "
        f"{duration(copies.function_seconds)} of functions: {dollars(copies.usd)}; between regions: "
        f"{dollars(cost['egress'])}",
    ]


def _dry_run(copies: Copies) -> list[str]:
    found = f"{many(copies.planned, 'object')}, {size(copies.planned_bytes)}, would be copied by S3"
    lines = ["dry run: nothing was copied", f"of {many(copies.listed, 'object')} that were listed, {found}"]
    if (expected := copies.estimate) is not None:
        lines.append(
            f"that takes {duration(expected.least_seconds)} to {duration(expected.most_seconds)} and "
            f"{dollars(expected.usd)}"
        )
    return lines
