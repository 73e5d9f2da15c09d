import json
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from pydantic import ValidationError

from cli.doctor.finding import Finding, Findings, looked, ok
from lambdas.core.errors import MissingPermission

EXAMPLES = Path(__file__).parents[3] / "contracts" / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("good/finding/*.json")), ids=lambda path: path.stem)
def test_good_example_is_read_and_written_back(path: Path) -> None:
    document = json.loads(path.read_text())
    assert Finding.from_document(document).to_document() == document


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("bad/finding/*.json")), ids=lambda path: path.stem)
def test_bad_example_is_refused(path: Path) -> None:
    with pytest.raises(ValidationError):
        Finding.from_document(json.loads(path.read_text()))


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeImages")


@pytest.mark.parametrize(
    ("error", "words", "remedy"),
    [
        (refused("UnauthorizedOperation"), "AWS refused DescribeImages", "for that permission"),
        (refused("InternalError"), "InternalError: no", "look again"),
        (MissingPermission("ec2:DescribeSubnets"), "ec2:DescribeSubnets", "for that permission"),
    ],
)
def test_what_aws_refuses_is_unknown_and_what_was_found_before_stays(error: Exception, words: str, remedy: str) -> None:
    def find() -> Findings:
        yield ok("image", "us-west-2", "one")
        raise error

    first, unknown = looked("image", "us-west-2", find)
    assert (first.status, unknown.status) == ("ok", "unknown")
    assert words in unknown.message
    assert remedy in str(unknown.remedy)
