"""fio: what a file system gives to whoever reads it with many requests at once."""

import json
from pathlib import Path

from bench.data_plane.bench import Bench
from bench.data_plane.peers.programs import require
from bench.data_plane.process import running

TIMEOUT = 300.0
JOB = "[global]\nioengine=psync\nrw=read\nallow_file_create=0\ninvalidate=0\n"


def read_file(bench: Bench, file: Path, jobs: int) -> float:
    """Seconds for one file that so many jobs read a share each of, in pieces of 1 MiB."""
    share = file.stat().st_size // jobs
    lines = f"bs=1M\nfilename={file}\nsize={share}\noffset_increment={share}\nnumjobs={jobs}\n[file]\n"
    return _seconds(bench, JOB + lines)


def read_folders(bench: Bench, folders: list[Path]) -> float:
    """Seconds for the files of these folders, each folder by a job of its own, a file by one read."""
    size = max(path.stat().st_size for folder in folders for path in folder.iterdir())
    jobs = [f"[folder-{number}]\nopendir={folder}\n" for number, folder in enumerate(folders)]
    return _seconds(bench, JOB + f"bs={size}\nfile_service_type=sequential\nopenfiles=1\n" + "".join(jobs))


def _seconds(bench: Bench, jobs: str) -> float:
    file, log = bench.work / "fio.job", bench.work / "fio.json"
    file.write_text(jobs)
    argv = [require("fio"), "--readonly", "--output-format=json", f"--output={log}", str(file)]
    with running(argv, bench.work / "fio.log") as fio:
        fio.wait(TIMEOUT)
    text = log.read_text()
    # Its remarks come first.
    found = json.loads(text[text.index("{") :])["jobs"]
    return max(float(job["read"]["runtime"]) for job in found) / 1000
