import io
import os
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from local.patches.functions.assets import BYTECODE, KEPT_SECONDS, unpacked


def packed(content: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("handler.py", content)
    return buffer.getvalue()


def test_equal_assets_are_unpacked_once_whichever_cloud_comes_first(tmp_path: Path) -> None:
    with ProcessPoolExecutor(8) as clouds:
        (code,) = set(clouds.map(unpacked, [packed("same")] * 16, [tmp_path] * 16))
    assert [path.name for path in tmp_path.iterdir()] == [code.name]
    assert (code / "handler.py").read_text() == "same"


def test_what_no_process_was_started_from_for_a_week_goes_with_its_bytecode(tmp_path: Path) -> None:
    old, used = unpacked(packed("old"), tmp_path), unpacked(packed("used"), tmp_path)
    bytecode = tmp_path / BYTECODE.name / old.relative_to(old.anchor)
    bytecode.mkdir(parents=True)
    for code in (old, used):
        os.utime(code, (0, time.time() - KEPT_SECONDS - 1))
    os.utime(tmp_path / BYTECODE.name, (0, 0))
    unpacked(packed("used"), tmp_path)
    new = unpacked(packed("new"), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {used.name, new.name, BYTECODE.name}
    assert not bytecode.exists()
