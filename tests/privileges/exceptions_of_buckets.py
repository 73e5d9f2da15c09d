"""Rights on what transfers leave in buckets, which no recorded run uses: each with the reason."""

from tests.privileges.unused import unused

_LEFTOVERS = "lambdas/operations/test_leftovers.py"

OF_BUCKETS = (
    *unused(
        "cpt-list-archived",
        "s3:GetObject",
        "A request may have a list of keys and archived objects among them. No recorded run has both.",
        "lambdas/operations/restores/test_restoring.py::test_of_a_list_of_keys_only_what_it_names_is_restored",
        on="*cpt-control-*/keys/*",
    ),
    *unused(
        "cpt-tear-down",
        "s3:GetObject",
        "Uploads of copies that nobody completes are aborted by their notes. No recorded run left any.",
        "lambdas/operations/copies/test_teardown.py::test_an_upload_that_a_successful_run_does_not_need_is_aborted_at_once",
        on="*cpt-control-*/copies/*",
    ),
    *unused(
        "cpt-sweep-execution cpt-teardown-request",
        "s3:DeleteObject",
        "Uploads of copies that nobody completes are aborted by their notes. No recorded run left any.",
        "lambdas/operations/copies/test_teardown.py::test_an_upload_that_a_successful_run_does_not_need_is_aborted_at_once",
        on="*cpt-control-*/copies/*",
    ),
    *unused(
        "cpt-tear-down cpt-teardown-request",
        "s3:PutObject",
        "What a failed transfer has left in a bucket is to be swept. In recorded runs Sweep Execution noted it.",
        f"{_LEFTOVERS}::test_what_waits_for_another_run_is_counted_in_bytes_and_dollars",
        on="*cpt-control-*/unfinished/*",
    ),
    *unused(
        "cpt-sweep-uploads",
        "dynamodb:Query",
        "Uploads of copies stay while another transfer between the same buckets moves. No recorded run left any.",
        f"{_LEFTOVERS}::test_copies_are_swept_by_the_session_that_began_them_unless_another_run_goes_on_with_them",
    ),
)
