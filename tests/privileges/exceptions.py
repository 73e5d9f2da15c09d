"""What is granted though no recorded run uses it, each with the reason; an entry that nothing needs fails a test."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.privileges.grants import Grant


@dataclass(frozen=True)
class Unused:
    """Unused grants whose role, action and resource match; `*` stands for anything."""

    role: str
    action: str
    resource: str
    why: str
    held_by: str = ""
    """The test that makes the call all the same, on a cloud in memory: `FILE::TEST` below `tests/`."""

    def covers(self, grant: Grant) -> bool:
        """Whether this entry speaks for a grant."""
        pairs = ((grant.role, self.role), (grant.action, self.action), (grant.resource, self.resource))
        return all(fnmatchcase(value, pattern) for value, pattern in pairs)


def unused(roles: str, actions: str, why: str, held_by: str = "", on: str = "*") -> Iterator[Unused]:
    """An entry for each of `roles` and each of `actions`, both separated by blanks."""
    for role in roles.split():
        for action in actions.split():
            yield Unused(role, action, on, why, held_by)


def _given_back(roles: str, on: str) -> Iterator[Unused]:
    why = "a machine that was lent and has not joined is given back: its daemon is stopped"
    test = (
        "lambdas/operations/fleet/test_existing.py::test_machine_that_has_not_joined_is_given_back_and_not_terminated"
    )
    return unused(roles, "ssm:SendCommand", why, test, on)


def _reported_by_hand(actions: str, on: str) -> Iterator[Unused]:
    why = "people take down what an execution that is gone has left, and write its report, as Sweep Execution does"
    file, test = "test_teardown_request.py", "test_transfer_whose_execution_is_over_or_gone_is_taken_down_and_reported"
    return unused("cpt-teardown-request", actions, why, f"lambdas/handlers/calls/{file}::{test}", on)


_AGENT = "the SSM agent’s own; the local cloud’s agent is part of the emulator"
_TEAR_DOWN = "cpt-tear-down cpt-sweep-execution cpt-reconcile cpt-teardown-request"

EXCEPTIONS = (
    *unused(
        "*",
        "logs:*",
        "Lambda itself writes a function’s log; the local cloud writes files",
        on="*:log-group:/aws/lambda/*",
    ),
    *unused("*", "xray:*", "Lambda and Step Functions themselves send traces; the local cloud has no X-Ray"),
    *unused(
        "cpt-reconcile cpt-sweep-execution cpt-teardown-request cpt-verify-transfer",
        "s3:GetObject",
        "the list of what a transfer left out is read for its report, which no recorded run had",
        "lambdas/handlers/states/test_write_report.py::test_transfer_that_may_leave_nothing_out_fails_with_what_it_left_out",
        on="*cpt-control-*",
    ),
    *unused("cpt-transfer", "logs:*", "Step Functions itself sets up the delivery of its log"),
    *unused("*", "ssmmessages:* ssm:UpdateInstanceInformation", _AGENT),
    *unused(
        _TEAR_DOWN,
        "ec2:AuthorizeSecurityGroupIngress ec2:CreateTags",
        "a transfer that begins during another one’s teardown gets back the rule that both share",
        "lambdas/handlers/states/test_tear_down.py::test_rule_that_a_transfer_beginning_meanwhile_relies_on_is_there_again",
    ),
    *unused(
        "cpt-await-approval",
        "dynamodb:DeleteItem",
        "a transfer that is being torn down asks nobody",
        "lambdas/handlers/states/test_await_approval.py::test_transfer_that_is_being_torn_down_asks_nobody_and_keeps_no_token",
    ),
    *unused(
        "cpt-start-transfer",
        "states:SendTaskSuccess states:SendTaskFailure",
        "the outcome may come before the task token is kept",
        "lambdas/handlers/states/test_start_transfer.py::test_token_that_comes_after_the_outcome_is_released_at_once",
    ),
    *unused(
        "cpt-finish-transfer",
        "states:SendTaskFailure",
        "an end that gives up fails the task",
        "lambdas/handlers/reactions/test_finish_transfer.py::test_failure_fails_the_task_with_the_ends_own_error",
    ),
    *unused(
        "cpt-pre-test-relays",
        "states:SendTaskFailure",
        "relays that only measure may measure nothing",
        "lambdas/handlers/states/test_pre_test_relays.py::test_measuring_without_a_result_fails_and_leaves_no_relay",
    ),
    *unused(
        "cpt-open-plan",
        "dynamodb:DeleteItem",
        "what failed may be tried again: its record goes",
        "lambdas/runtime/test_idempotency.py::test_failed_effect_may_be_tried_again",
        on="*/cpt-idempotency",
    ),
    *_given_back("cpt-spawn-relays cpt-await-relays cpt-pre-test-relays cpt-replace-relay", "*:document/cpt-stop"),
    *_given_back("cpt-spawn-relays cpt-pre-test-relays cpt-replace-relay", "*:instance/*"),
    *unused(
        "cpt-replace-relay",
        "ec2:RunInstances",
        "relays of the spot market have successors there, launched as Spawn Relays launches",
        "lambdas/handlers/states/test_spawn_relays.py::test_spot_falls_back_to_on_demand_and_each_node_says_what_it_is",
        on="*:spot-instances-request/*",
    ),
    *unused(
        "cpt-estimate-request cpt-start-from-object cpt-start-from-schedule",
        "ec2:DescribeSecurityGroups",
        "a request may name machines that are lent; it is judged as Validate Request judges it",
        "lambdas/operations/fleet/test_existing.py::test_machine_that_cannot_serve_is_refused_with_the_remedy",
    ),
    *unused(
        "cpt-finish-survey",
        "ec2:DescribeSpotPriceHistory",
        "a request may ask for the spot market; it is estimated as Estimate Transfer estimates it",
        "lambdas/operations/estimate/test_quotes.py::test_spot_prices_of_each_sides_own_zone_are_in_the_book_and_not_kept",
    ),
    *unused(
        "cpt-start-from-schedule",
        "events:PutEvents",
        "a schedule’s request that cannot work is told by an event",
        "lambdas/handlers/reactions/test_start_from_schedule.py::test_request_that_cannot_work_is_told_by_event",
    ),
    *unused(
        "cpt-validate-request",
        "dynamodb:DeleteItem",
        "a run that goes on with a transfer forgets the relays of the last one",
        "lambdas/handlers/states/test_validate_request.py::"
        "test_resumed_it_is_the_next_run_of_the_same_transfer_and_finds_nothing_of_the_last_one",
        on="*/cpt-nodes",
    ),
    *_reported_by_hand("dynamodb:GetItem dynamodb:UpdateItem", "*/cpt-profiles"),
    *_reported_by_hand("dynamodb:Query", "*/cpt-chunks"),
    *_reported_by_hand("ec2:TerminateInstances events:PutEvents", "*"),
    *_reported_by_hand("s3:PutObject", "*/transfers/*"),
    *unused(
        "cpt-endpoint",
        "s3:GetObject s3:PutObject",
        "sources launched before 2016 have ids of 8 digits; the local cloud gives 17",
        on="*:instance/i-[?][?][?][?][?][?][?][?]+*",
    ),
)
