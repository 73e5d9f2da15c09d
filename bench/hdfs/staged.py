"""`make bench-staged`: the dissertation's staged copy between two Hadoops, measured (Figures 6.6 and 6.7).

Files are 1:16 of its 512 MB, and so are times: rates stay its own. Each copy is timed by step, and Equation 5.1 stands
beside it: v_x and v_m, which nobody publishes, are those of the first copy, so they predict the later ones alone.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from bench.hdfs.staged_forecast import Forecast, forecasts, launched
from bench.hdfs.staged_job import Rates, StagedJob, StagingError, Step
from bench.hdfs.staged_run import Measured, copy_staged
from bench.hdfs.staged_site import Site, laboratory
from bench.machine import unmet, workspace
from bench.options import count
from bench.results import OUT, Result, publish, say
from local.hadoop.errors import HadoopError, HadoopMissingError
from local.hadoop.settings import Options
from local.hadoop.shared_classes import prepare

SCALE = 16
FILE_BYTES = 512_000_000 // SCALE
FILES = (2, 12)
"""Of Figures 6.6 and 6.7."""
BLOCK_BYTES = 8 << 20
RATES = Rates(inter_mb_s=13.4, intra_mb_s=89.8, boot_seconds=83 / SCALE)
"""Of t2.micro (Table 5.4)."""
SERIES = OUT / "hdfs-staged-series.json"
MISSING = 3
_SEED = 56


def measure(site: Site, job: StagedJob, pairs: int = 0, name: str = "staging") -> Measured:
    """One copy on a laboratory, with `pairs` launched beside the workers; `stages` of it has the seconds of export,
    transfer and import. Raises StagingError or TimeoutError.
    """

    def told(step: Step) -> None:
        say(f"  {step}")

    return copy_staged(job, *site.sides(name), site.moving(pairs), told)


def put_files(site: Site, directory: str, files: int, file_bytes: int, work: Path) -> None:
    """Bring so many files of random bytes into a directory of the source's HDFS. Raises HadoopError."""
    randomness = random.Random(_SEED)
    site.source.shell("-mkdir", "-p", directory)
    for number in range(files):
        path = work / f"file-{number}.bin"
        path.write_bytes(randomness.randbytes(file_bytes))
        site.source.shell("-put", str(path), directory)
        path.unlink()


def main(words: list[str]) -> int:
    """Measure, write bench/out/hdfs-staged.json and the timelines; 0 if every bar holds, 3 without a Hadoop here."""
    options = _parser().parse_args(words)
    # An end by a service is one by Ctrl-C: both remove what is staged.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if missing := unmet():
        say("\n".join(missing))
        return MISSING
    try:
        runtime = prepare()
    except HadoopMissingError as error:
        say(str(error))
        return MISSING
    found: dict[int, Measured] = {}
    pairs: dict[int, int] = {}
    try:
        with (
            workspace("cpt-staged-") as work,
            laboratory(runtime, work, RATES, Options(block_bytes=BLOCK_BYTES, quick=False)) as site,
        ):
            for files in options.files:
                put_files(site, f"/in/{files}", files, options.file_bytes, work)
                say(f"{files} files of {options.file_bytes:,} B:")
                job = StagedJob((f"/in/{files}",), f"/out/{files}", options.replication, options.bundle)
                pairs[files] = launched(RATES, files * options.file_bytes, options.pairs)
                found[files] = measure(site, job, pairs[files])
            left = _left(site)
    except (StagingError, HadoopError, TimeoutError) as error:
        say(f"staged: {error}")
        return 1
    predicted = forecasts(found, RATES, pairs)
    _write(found, predicted, options.file_bytes)
    return publish("hdfs-staged", _results(found, predicted, left), "make bench-staged")


def _left(site: Site) -> int:
    """Relays that were launched and run still."""
    return len(site.account.cloud.live_relays())


def _results(found: dict[int, Measured], predicted: dict[int, Forecast], left: int) -> list[Result]:
    results = []
    for files, measured in found.items():
        stages, forecast = measured.stages, predicted[files]
        taken = {"export": stages.export_seconds, "transfer": stages.transfer_seconds, "import": stages.import_seconds}
        results += [Result(f"{files} files: {name}", seconds, "s") for name, seconds in taken.items()]
        results += [
            Result(f"{files} files: T_HCPT", stages.seconds, "s"),
            Result(f"{files} files: Eq. 5.1, store and forward", forecast.store_and_forward.seconds, "s"),
            Result(f"{files} files: Eq. 5.1, zero wait", forecast.zero_wait.seconds, "s"),
            Result(f"{files} files: export and import of the whole", 100 * stages.staging_share, "%"),
            Result(f"{files} files: data time of the transfer", measured.report["seconds"]["transfer"], "s"),
        ]
    return [*results, Result("relays that run afterwards", left, "relays", 0)]


def _write(found: dict[int, Measured], predicted: dict[int, Forecast], file_bytes: int) -> None:
    """The timelines, for the plot."""
    OUT.mkdir(parents=True, exist_ok=True)
    series = {
        "scale": SCALE,
        "fileBytes": file_bytes,
        "rates": asdict(RATES),
        "runs": {
            str(files): {
                "bytes": measured.data_bytes,
                "spans": [asdict(span) for span in measured.spans],
                "storeAndForward": asdict(predicted[files].store_and_forward),
                "zeroWait": asdict(predicted[files].zero_wait),
            }
            for files, measured in found.items()
        },
    }
    SERIES.write_text(json.dumps(series, indent=2) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.hdfs.staged", description=__doc__)
    parser.add_argument("--files", type=_counts, default=FILES, help="numbers of files, e.g. 2,12 (default: both)")
    parser.add_argument("--file-bytes", type=count, default=FILE_BYTES, help=f"size of each (default: {FILE_BYTES})")
    parser.add_argument("--pairs", type=int, default=0, choices=range(9), help="launched where the forecast says so")
    parser.add_argument("--replication", type=count, default=2)
    parser.add_argument("--bundle", choices=("auto", "tar", "never"), default="never")
    return parser


def _counts(text: str) -> tuple[int, ...]:
    return tuple(count(one) for one in text.split(","))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("staged: ended by a signal; nothing is staged or running any more")
        sys.exit(130)
