"""What the survey of a bucket finds in the way is told in S3's words, with what would help."""

import pytest

from lambdas.core.errors import SurveyProblem
from lambdas.core.intake.survey import check
from lambdas.core.survey.survey import SurveyProblemEntry
from tests.lambdas.buckets import from_bucket, to_bucket
from tests.lambdas.builders import SOURCE_ID, survey


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("NoSuchBucket: The specified bucket does not exist", "correct its name, or make it"),
        ("AccessDenied: Access Denied", "look at the bucket's policy, its key's, and that of a VPC endpoint"),
        ("HTTP status 403", "look at the bucket's policy"),
        ("PermanentRedirect: address it elsewhere", "correct the region"),
        ("KMS.DisabledException: the key is disabled", "enable the key, or choose another one"),
        ("AccessDenied: not authorized to perform: kms:GenerateDataKey", "let the role of buckets use the key"),
        ("InvalidRequest: anything", "correct the bucket, or choose another one"),
    ],
)
def test_a_problem_of_a_bucket_names_it_and_no_machine(reason: str, remedy: str) -> None:
    found = survey()
    problem = SurveyProblemEntry(path="s3%3A//my-data/out/", reason=reason)
    there = found.destination.model_copy(update={"problems": [problem], "problem_count": 1})
    with pytest.raises(SurveyProblem) as error:
        check(to_bucket(), found.model_copy(update={"destination": there}))
    told = str(error.value)
    assert told.startswith(f"$.destination.prefix: 's3://my-data/out/': {reason}; {remedy}")
    assert SOURCE_ID not in told


def test_archived_objects_are_told_with_what_restoring_them_costs() -> None:
    reason = (
        "is archived, as are 3 objects of 2000000000014 bytes in all (DEEP_ARCHIVE: 2 objects, 2000000000000 bytes; "
    )
    found = survey()
    problem = SurveyProblemEntry(path="in/cold%20one", reason=f"{reason}GLACIER: 1 objects, 14 bytes)")
    here = found.source.model_copy(update={"problems": [problem], "problem_count": 1})
    with pytest.raises(SurveyProblem) as error:
        check(from_bucket(), found.model_copy(update={"source": here}))
    told = str(error.value)
    assert told.startswith(
        "$.source.prefix: 3 objects of 2.00 TB are archived (DEEP_ARCHIVE: 2; GLACIER: 1), 'in/cold one'"
    )
    assert "restoring costs about $40.00 by S3's standard retrieval" in told
