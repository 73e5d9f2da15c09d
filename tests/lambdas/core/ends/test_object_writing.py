"""How objects are kept, as commands have it."""

from lambdas.core.ends.object_writing import ARCHIVES, STORAGE_CLASSES, region_of_key, written_as


def test_only_what_is_asked_for_is_told() -> None:
    assert written_as(None, {}, None) == {}
    assert written_as("GLACIER", {"a": ""}, None) == {"storageClass": "GLACIER", "tags": {"a": ""}}


def test_archives_are_among_the_classes() -> None:
    assert set(STORAGE_CLASSES) > ARCHIVES


def test_a_key_names_its_region() -> None:
    assert region_of_key("arn:aws-cn:kms:cn-north-1:123456789012:key/1") == "cn-north-1"
