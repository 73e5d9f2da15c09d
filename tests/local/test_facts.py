"""Facts of AWS are those of `local/facts.toml`, wherever they are used or told."""

import re

import botocore.loaders
import pytest

from local.facts import fact, facts
from tests.paths import ROOT

LIMITS = {name: entry for name, entry in facts().items() if name != "ends"}
UNITS = {"": 1, "KB": 1024, "KiB": 1024, "MB": 1024**2, "min": 60}
SEEN = {"model", "text", "page", "others", "no"}
READING = re.compile(r'\bfact\("([\w-]+)"\)')


def quantity(words: str) -> int:
    """The first number in a text, with its unit: `15 min` is 900, `250 * 1024` is 256 000."""
    if minutes := re.search(r"minutes\((\d+)\)", words):
        return 60 * int(minutes[1])
    number = re.search(r"(?<![\w.])(\d[\d _]*(?: \* \d+)*) ?(KiB|KB|MB|min)?\b", words)
    assert number, f"no number in {words!r}"
    product = 1
    for factor in number[1].split("*"):
        product *= int(re.sub(r"[ _]", "", factor))
    return product * UNITS[number[2] or ""]


@pytest.mark.parametrize("name", LIMITS)
def test_a_fact_says_where_it_is_written_and_has_a_user(name: str) -> None:
    entry = LIMITS[name]
    assert entry["seen"] in SEEN
    assert entry["source"]
    assert entry["unit"]
    assert (entry["seen"] == "model") == ("model" in entry)
    assert entry.get("read_by") or entry.get("told"), "nobody relies on it"


@pytest.mark.parametrize("name", [name for name, entry in LIMITS.items() if "model" in entry])
def test_a_fact_of_botocores_model_is_the_models(name: str) -> None:
    service, shape, bound = LIMITS[name]["model"]
    assert botocore.loaders.Loader().load_service_model(service, "service-2")["shapes"][shape][bound] == fact(name)


@pytest.mark.parametrize(
    ("name", "file", "words"), [(name, *told) for name, entry in LIMITS.items() for told in entry.get("told", [])]
)
def test_who_repeats_a_fact_repeats_its_value(name: str, file: str, words: str) -> None:
    assert words in " ".join((ROOT / file).read_text().split())
    assert quantity(words) == fact(name)


def test_the_local_cloud_reads_the_facts_that_say_so() -> None:
    read = {(name, path) for path in (ROOT / "local").rglob("*.py") for name in READING.findall(path.read_text())}
    listed = {(name, ROOT / file) for name, entry in LIMITS.items() for file in entry.get("read_by", [])}
    assert read == listed


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("takes 262 144 bytes", 262_144),
        ("LIMIT = 250 * 1024 * 1024", 262_144_000),
        ("Duration.minutes(15)", 900),
        ("run of 15 min", 900),
        ("holds 400 KB", 409_600),
        ("pairs is 60: 20 with", 60),
        ("x_1 = 1_000.0", 1000),
    ],
)
def test_numbers_are_read_as_people_write_them(words: str, value: int) -> None:
    assert quantity(words) == value
