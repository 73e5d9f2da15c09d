"""`make bench-scale`: plan, verify and report 10^6 chunks and 10^7 small files in the memory of the Lambdas."""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.results import Result, publish, say
from bench.scale import listing
from bench.scale.history import deployed_machine, most_events
from bench.scale.synthetic import Source

MIB = 1 << 20
# A Lambda of 2 048 MiB has 2 048 / 1 769 of a processor.
PROCESSOR_SHARE = 2048 / 1769
LAMBDA_SECONDS = 900.0
# Step Functions' limits.
PAYLOAD_BYTES = 262_144
HISTORY_EVENTS = 25_000
LIKE_POWERTOOLS = {
    "POWERTOOLS_SERVICE_NAME": "bench",
    "POWERTOOLS_METRICS_NAMESPACE": "cpt",
    "POWERTOOLS_TRACE_DISABLED": "1",
}
STEPS = {"plan": "cpt-plan-chunks", "verify": "cpt-verify-transfer", "report": "cpt-write-report"}


def sources(share: float) -> list[Source]:
    """10^6 chunks of large files; 10^7 small files; 10^6 directories; all by `share`."""

    def some(number: int) -> int:
        return max(round(number * share), 1)

    return [
        Source("10^6 chunks of 64 MiB", some(977), 1, 64 << 30),
        Source("10^7 files of 10 KiB", some(100_000), 100, 10 << 10),
        Source("10^6 directories of one file", some(1_000_000), 1, 10 << 10),
    ]


def memory_mib(function: str) -> int:
    """What the synthesized template gives the function."""
    template = json.loads(Path("cdk.out/cpt-control.template.json").read_text())
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Lambda::Function" and resource["Properties"].get("FunctionName") == function:
            return int(resource["Properties"]["MemorySize"])
    raise SystemExit(f"bench-scale: the template has no function {function}")


def measure(step: str, source: Source, memory: int) -> dict[str, Any]:
    """One step on one source, in a process of its own that may not have more than `memory` MiB."""
    command = [sys.executable, "-m", "bench.scale.work", step, str(memory), json.dumps(asdict(source))]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **LIKE_POWERTOOLS})
    if answer.returncode:
        raise SystemExit(f"bench-scale: {step} of {source.name}:\n{answer.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def rows(step: str, source: Source, memory: int) -> list[Result]:
    """What a step took; its bars are half of the Lambda's memory, and all of its time."""
    found = measure(step, source, memory)
    case = f"{step}, {source.name}"
    seconds = max(found["processorSeconds"] / PROCESSOR_SHARE, found.get("pacedSeconds", 0.0))
    note = f"{found['chunks']} chunks, {source.entries} entries"
    results = [
        Result(f"{case}: peak memory", found["peakMiB"], "MiB", bar=memory / 2, note=note),
        Result(f"{case}: time of the Lambda", seconds, "s", bar=LAMBDA_SECONDS),
    ]
    if "payload" in found:
        results.append(Result(f"{case}: payload", found["payload"], "bytes", bar=PAYLOAD_BYTES))
    return results


def main() -> int:
    """Each step on each source, and what does not depend on one."""
    parser = argparse.ArgumentParser(prog="bench-scale")
    parser.add_argument("--share", type=float, default=1.0, help="of the sizes; less tries the harness")
    share: float = parser.parse_args().share
    results = [Result("history, every retry used", most_events(deployed_machine()), "events", bar=HISTORY_EVENTS)]
    say("a listing that takes long")
    results += listing.rows()
    for source in sources(share):
        for step, function in STEPS.items():
            say(f"{step}, {source.name}")
            results += rows(step, source, memory_mib(function))
    return publish("scale", results, "make bench-scale")


if __name__ == "__main__":
    sys.exit(main())
