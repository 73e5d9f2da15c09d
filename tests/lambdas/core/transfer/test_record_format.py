"""Records say their format; those of another one are refused with both numbers."""

import pytest

from lambdas.core.errors import RecordOfOtherVersion
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.record_format import FORMAT_VERSION, refuse_other
from tests.lambdas.builders import transfer


def test_new_transfer_says_the_format_and_one_that_says_nothing_is_of_the_first() -> None:
    document = transfer().to_document()
    assert document["formatVersion"] == FORMAT_VERSION
    assert AcceptedTransfer.from_document(document) == transfer()
    del document["formatVersion"]
    assert AcceptedTransfer.from_document(document).format_version == 1


def test_other_format_is_refused_with_both_numbers_and_what_to_do() -> None:
    refuse_other("nightly", FORMAT_VERSION)
    with pytest.raises(RecordOfOtherVersion, match=rf"'nightly' has records of format 1, .* format {FORMAT_VERSION}"):
        refuse_other("nightly", 1)


def test_records_of_a_newer_version_are_refused_too_when_the_one_before_is_deployed_over_it() -> None:
    with pytest.raises(
        RecordOfOtherVersion, match=rf"of format {FORMAT_VERSION + 1}, .* reads format {FORMAT_VERSION}"
    ):
        refuse_other("nightly", FORMAT_VERSION + 1)
