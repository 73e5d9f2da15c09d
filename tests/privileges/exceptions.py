"""What is granted though no recorded run uses it, each with the reason; an entry that nothing needs fails a test."""

from collections.abc import Iterator

from tests.privileges.exceptions_of_buckets import OF_BUCKETS
from tests.privileges.unused import Unused, unused


def _given_back(roles: str, on: str) -> Iterator[Unused]:
    why = "An existing machine that has not joined is released: its daemon is stopped."
    file, test = "test_lent.py", "test_machine_that_has_not_joined_is_given_back_and_not_terminated"
    test = f"lambdas/operations/fleet/providers/{file}::{test}"
    return unused(roles, "ssm:SendCommand", why, test, on)


def _reported_by_hand(actions: str, on: str) -> Iterator[Unused]:
    why = "If its execution is gone, the function takes down the rest and writes the report, as Sweep Execution does."
    file, test = "test_teardown_request.py", "test_transfer_whose_execution_is_over_or_gone_is_taken_down_and_reported"
    return unused("cpt-teardown-request", actions, why, f"lambdas/handlers/calls/{file}::{test}", on)


def _logs_read(actions: str, on: str) -> Iterator[Unused]:
    why = "Logs of relays that a decision releases are read as Release Relays reads them. No recorded run did."
    test = "lambdas/operations/test_logs.py::test_the_log_of_a_relay_that_is_given_back_early_is_kept"
    return unused("cpt-decide-relays", actions, why, test, on)


def _without_lent(roles: str) -> Iterator[Unused]:
    why = (
        "Machines that are lent are refused where relays are only measured. The code that gives a relay back has both."
    )
    for on in ("*:document/cpt-stop", "*:instance/*"):
        yield from unused(roles, "ssm:SendCommand", why, on=on)


_RELEASED = (
    "lambdas/handlers/states/test_await_measured_relays.py::test_no_relay_joins_and_one_without_a_partner_is_released"
)
_MADE_AGAIN = (
    "lambdas/handlers/states/test_apply_measuring_approval.py::test_old_estimate_is_made_again_as_one_of_measuring"
)
_AGENT = "The SSM agent uses them. In the local cloud the agent is part of the emulator."
_TEAR_DOWN = "cpt-tear-down cpt-sweep-execution cpt-teardown-request"

# All that changing a fleet takes.
_CHANGING = (
    "dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem ec2:AuthorizeSecurityGroupIngress ec2:CreateTags "
    "ec2:DescribeInstances ec2:DescribeRouteTables ec2:DescribeSecurityGroups ec2:DescribeSubnets ec2:RunInstances "
    "ec2:TerminateInstances events:PutEvents iam:PassRole sqs:SendMessage ssm:*"
)

EXCEPTIONS = (
    *unused(
        "*",
        "logs:*",
        "Lambda writes a function’s log. The local cloud writes files instead.",
        on="*:log-group:/aws/lambda/*",
    ),
    *unused("*", "xray:*", "Lambda and Step Functions send traces. The local cloud has no X-Ray."),
    *unused(
        "cpt-sweep-execution cpt-teardown-request",
        "s3:GetObject",
        "The report of a transfer that skipped files reads their list. No recorded run skipped any.",
        "lambdas/handlers/states/test_write_report.py::test_transfer_that_may_leave_nothing_out_fails_with_what_it_left_out",
        on="*cpt-control-*",
    ),
    *OF_BUCKETS,
    *unused("cpt-transfer cpt-waves", "logs:*", "Step Functions sets up the delivery of its log."),
    *unused(
        "cpt-waves",
        "events:* states:StopExecution",
        "Step Functions hears by a rule of its own that a transfer has ended, and stops it with the waves. The local "
        "cloud's engine looks at executions itself.",
    ),
    *unused(
        "cpt-limit-transfers cpt-share-limits",
        "dynamodb:UpdateItem",
        "A limit that is set while transfers run is noted in their records. In recorded runs it was there before.",
        "lambdas/operations/fleet/test_sharing.py::"
        "test_those_that_run_have_equal_shares_at_once_and_lose_them_with_the_limit",
    ),
    *unused(
        "cpt-show-transfers",
        "dynamodb:GetItem",
        "The dashboard shows the waves of a label. No recorded run opened them there.",
        "lambdas/handlers/calls/test_show_transfers.py::test_waves_of_a_label_and_of_none",
    ),
    *unused("*", "ssmmessages:* ssm:UpdateInstanceInformation", _AGENT),
    *unused(
        _TEAR_DOWN,
        "ec2:AuthorizeSecurityGroupIngress ec2:CreateTags",
        "If a transfer starts during another one’s teardown, the teardown restores the rule that both share.",
        "lambdas/handlers/states/test_tear_down.py::test_rule_that_a_transfer_beginning_meanwhile_relies_on_is_there_again",
    ),
    *unused(
        "cpt-await-approval cpt-await-measuring-approval",
        "dynamodb:DeleteItem",
        "A transfer that is being torn down asks nobody for approval and deletes its token.",
        "lambdas/handlers/states/test_await_approval.py::test_transfer_that_is_being_torn_down_asks_nobody_and_keeps_no_token",
    ),
    *unused(
        "cpt-start-transfer cpt-start-sender",
        "states:SendTaskSuccess states:SendTaskFailure",
        "The outcome may arrive before the task token is stored.",
        "lambdas/handlers/states/test_start_transfer.py::test_token_that_comes_after_the_outcome_is_released_at_once",
    ),
    *unused(
        "cpt-lose-end cpt-restart-end",
        "states:SendTaskSuccess",
        "If the data arrives while EC2 is asked about the machine of an end, the task succeeds.",
        "lambdas/operations/seats/test_end_daemons.py::"
        "test_data_that_arrived_while_ec2_was_asked_about_a_machine_that_ended_has_arrived",
    ),
    *unused(
        "cpt-validate-request",
        "dynamodb:DeleteItem",
        "A resumed transfer forgets who has finished its earlier run.",
        "lambdas/handlers/states/test_validate_request.py::"
        "test_who_finished_an_earlier_run_says_nothing_about_the_next_one",
        "*/cpt-chunks",
    ),
    *unused(
        "cpt-restart-end",
        "dynamodb:PutItem",
        "A sender that is started again gets its lease of the budget. In recorded runs none with a budget was.",
        "lambdas/operations/spending/test_lease.py::test_a_sender_that_is_started_again_gets_its_own_lease_before_it_begins",
    ),
    *unused(
        "cpt-lose-end cpt-restart-end cpt-issue-credentials cpt-sweep-uploads",
        "sqs:SendMessage",
        "Lambda puts events that a function has failed on into its queue. In recorded runs these have not failed.",
        "local/test_lambda.py::test_asynchronous_failure_is_retried_twice_then_goes_to_the_dead_letters",
    ),
    *unused(
        "cpt-watch-transfers",
        "dynamodb:GetItem ec2:TerminateInstances",
        "A relay that is found though its transfer is over is terminated. No recorded run left one.",
        "lambdas/handlers/reactions/test_reconcile.py::test_relay_of_a_transfer_that_is_over_is_terminated",
    ),
    *unused(
        "cpt-measure-relays",
        "states:SendTaskFailure",
        "An execution that only measures fails if it measures nothing.",
        "lambdas/handlers/states/test_measure_relays.py::test_measuring_without_a_result_fails_and_leaves_no_relay",
    ),
    *_without_lent("cpt-spawn-measured-relays cpt-await-measured-relays cpt-measure-relays"),
    *unused(
        "cpt-spawn-measured-relays cpt-await-measured-relays",
        "dynamodb:PutItem",
        "Relays that are only measured are in no membership; relays that are launched or made ready are settled there.",
        _RELEASED,
        on="*/cpt-transfers",
    ),
    *unused(
        "cpt-await-measured-relays",
        "ec2:TerminateInstances ssm:GetCommandInvocation",
        "A relay without a partner is terminated. A daemon that does not start says why. In recorded runs all came.",
        _RELEASED,
    ),
    *unused(
        "cpt-spawn-measured-relays",
        "ec2:DescribeInstanceTypeOfferings ec2:DescribeInstanceTypes ec2:RunInstances",
        "If the first type has no capacity, another one or another market is chosen, as Spawn Relays chooses it.",
        "lambdas/operations/fleet/test_spawning.py::test_refusal_is_noted_before_it_is_raised",
    ),
    *unused(
        "cpt-start-sender",
        "dynamodb:Query",
        "If the sender is started again, the meter is looked at before, and counts the relays.",
        "lambdas/handlers/states/test_start_sender.py::test_second_start_counts_what_the_first_has_cost",
        on="*/cpt-nodes",
    ),
    *unused(
        "cpt-estimate-measuring",
        "ec2:DescribeSpotPriceHistory iam:GetRole",
        "A request may ask for spot relays. They are estimated as Estimate Transfer does it.",
        "lambdas/operations/estimate/test_quotes.py::test_spot_prices_of_each_sides_own_zone_are_in_the_book_and_not_kept",
    ),
    *unused(
        "cpt-apply-measuring-approval",
        "dynamodb:BatchGetItem ec2:Describe* iam:GetRole pricing:* servicequotas:* s3:GetObject s3:PutObject",
        "An estimate that a person approves after an hour is made again, as Estimate Measuring makes it.",
        _MADE_AGAIN,
    ),
    *unused(
        "cpt-apply-measuring-approval",
        "dynamodb:GetItem",
        "An estimate that a person approves after an hour is made again, as Estimate Measuring makes it.",
        _MADE_AGAIN,
        on="*/cpt-profiles",
    ),
    *unused(
        _TEAR_DOWN,
        "ssm:SendCommand",
        "A mark that a survey was to take away, and was ended before, is taken away. No recorded run left one.",
        "lambdas/operations/intake/test_marks.py::test_a_function_that_ends_at_any_step_leaves_no_mark_for_long",
        on="*:document/cpt-scan",
    ),
    *unused(
        "cpt-open-plan",
        "dynamodb:DeleteItem",
        "If the work fails, its idempotency record is deleted, so that it can be retried.",
        "lambdas/runtime/test_idempotency.py::test_failed_effect_may_be_tried_again",
        on="*/cpt-idempotency",
    ),
    *unused(
        "cpt-tell-machine-ends cpt-show-transfers cpt-limit-transfers cpt-share-limits",
        "dynamodb:Query",
        "Until an index of this release is built, the one of the release before is asked.",
        "local/test_index_changes.py::test_another_index_comes_beside_the_old_one_which_goes_in_the_next_release",
        on="*/index/active",
    ),
    *unused(
        "cpt-tell-machine-ends",
        "dynamodb:Query",
        "Until an index of this release is built, the one of the release before is asked.",
        "local/test_index_changes.py::test_another_index_comes_beside_the_old_one_which_goes_in_the_next_release",
        on="*/index/by-instance",
    ),
    *_logs_read("ssm:SendCommand", "*:document/cpt-log"),
    *_logs_read("ssm:GetCommandInvocation", "*"),
    *_given_back("cpt-spawn-relays cpt-await-relays cpt-pre-test-relays cpt-replace-relay", "*:document/cpt-stop"),
    *_given_back("cpt-spawn-relays cpt-pre-test-relays cpt-replace-relay", "*:instance/*"),
    *_given_back("cpt-reconcile", "*:instance/*"),
    *_given_back("cpt-decide-relays", "*:document/cpt-stop"),
    *_given_back("cpt-decide-relays", "*:instance/*"),
    *unused(
        "cpt-grow-relays",
        _CHANGING,
        "More relays are launched, started and given back by the same code as in Replace Relay.",
        "lambdas/operations/fleet/test_growth.py::test_when_the_burst_has_ended_relays_are_launched_and_join",
    ),
    *unused(
        "cpt-replan-routes",
        _CHANGING,
        "Relays of other routes are launched, started and given back by the same code as in Replace Relay.",
        "lambdas/operations/fleet/test_replanning.py::test_route_that_became_slow_is_replaced_by_another_and_drained",
    ),
    *unused(
        "cpt-grow-relays cpt-replan-routes",
        "dynamodb:GetItem ec2:DescribeInstanceTypeOfferings ec2:DescribeInstanceTypes "
        "ec2:DescribeSpotPriceHistory iam:GetRole pricing:* servicequotas:* s3:GetObject s3:PutObject",
        "When the rate of a transfer falls for good, relays are decided about again, as Decide Relays does it.",
        "lambdas/operations/fleet/test_growth.py::test_when_the_burst_has_ended_relays_are_launched_and_join",
    ),
    *unused(
        "cpt-decide-relays cpt-finish-survey",
        "pricing:GetProducts s3:PutObject",
        "Prices that are missing or a week old are asked for and kept. In recorded runs they were asked for before.",
        "lambdas/operations/estimate/test_quotes.py::test_after_a_week_they_are_asked_for_again",
    ),
    *unused(
        "cpt-await-price",
        "ec2:DescribeSpotPriceHistory iam:GetRole",
        "A request may ask for spot relays. Its first look at the pool's price is made of an estimate.",
        "lambdas/operations/estimate/test_quotes.py::test_spot_prices_of_each_sides_own_zone_are_in_the_book_and_not_kept",
    ),
    *unused(
        "cpt-await-price",
        "dynamodb:BatchGetItem",
        "An estimate of routes through other regions asks for all of their links at once.",
        "lambdas/operations/estimate/test_mapping.py::test_each_link_has_what_is_known_of_it_alone",
    ),
    *unused(
        "cpt-apply-approval",
        "dynamodb:BatchGetItem dynamodb:GetItem ec2:Describe* iam:GetRole pricing:* servicequotas:* s3:GetObject "
        "s3:PutObject",
        "An estimate that a person approves after an hour is made again, as Estimate Transfer makes it.",
        "lambdas/handlers/states/test_apply_approval.py::test_old_estimate_is_made_again_and_the_reason_says_what_changed",
    ),
    *unused(
        "cpt-plan-chunks",
        "dynamodb:UpdateItem",
        "If an earlier run left a failed attempt undecided, it is decided when its plan is taken up.",
        "lambdas/handlers/states/test_plan_chunks.py::test_a_plan_that_still_fits_is_taken_up_as_it_was_left",
        on="*/cpt-chunks",
    ),
    *unused(
        "cpt-pre-test-relays",
        "ec2:DescribeInstances",
        "If a pre-test fails for good, its relays are terminated until EC2 shows them gone.",
        "lambdas/handlers/states/test_pre_test_relays.py::test_failure_for_good_discards_all_that_were_to_be_tested",
    ),
    *unused(
        "cpt-replan-routes",
        "ec2:DescribeSecurityGroupRules ec2:RevokeSecurityGroupIngress",
        "Where a plan that is made while data moves leaves a route, its relays' rules go with them.",
        "lambdas/operations/fleet/test_replanning_again.py::test_rules_of_relays_that_left_are_revoked",
    ),
    *unused(
        "*",
        "ssm:CancelCommand",
        "A command that an SSM agent has not started in time is not to start later.",
        "lambdas/operations/seats/test_commands.py::test_agent_that_starts_nothing_is_named_and_the_command_cancelled",
    ),
    *unused(
        "cpt-decide-relays",
        "ec2:DescribeSpotPriceHistory iam:GetRole",
        "A request may ask for spot relays. They are estimated as Estimate Transfer does it.",
        "lambdas/operations/estimate/test_quotes.py::test_spot_prices_of_each_sides_own_zone_are_in_the_book_and_not_kept",
    ),
    *unused(
        "cpt-replace-relay",
        "ec2:RunInstances",
        "A spot relay is replaced by a spot relay, launched as Spawn Relays does it.",
        "lambdas/handlers/states/test_spawn_relays.py::test_spot_falls_back_to_on_demand_and_each_node_says_what_it_is",
        on="*:spot-instances-request/*",
    ),
    *unused(
        "cpt-start-from-object cpt-start-from-schedule cpt-close-window",
        "ec2:DescribeSecurityGroups",
        "A request may name existing machines as relays. They are checked as Validate Request checks them.",
        "lambdas/operations/fleet/providers/test_lent.py::test_machine_that_cannot_serve_is_refused_with_the_remedy",
    ),
    *unused(
        "cpt-start-from-object cpt-start-from-schedule cpt-close-window",
        "elasticmapreduce:DescribeCluster elasticmapreduce:ListInstances",
        "A request may name a cluster of EMR. Its workers are looked for as Validate Request looks for them.",
        "lambdas/operations/intake/test_end_machines.py::test_a_later_request_finds_the_workers_of_then",
    ),
    *unused(
        "cpt-start-from-object cpt-start-from-schedule cpt-close-window",
        "ec2:DescribeRouteTables ec2:DescribeSubnets",
        "If regions are joined by private addresses, routes of third regions are read, as Validate Request reads them.",
        "lambdas/operations/intake/test_acceptance.py::test_named_region_through_which_no_way_is_joined_is_refused",
    ),
    *unused(
        "cpt-finish-survey",
        "ec2:DescribeSpotPriceHistory iam:GetRole",
        "A request may ask for spot relays. They are estimated as Estimate Transfer does it.",
        "lambdas/operations/estimate/test_quotes.py::test_spot_prices_of_each_sides_own_zone_are_in_the_book_and_not_kept",
    ),
    *unused(
        "cpt-decide-relays cpt-finish-survey",
        "dynamodb:BatchGetItem",
        "A request may let data pass third regions. Their links are read as Estimate Transfer reads them.",
        "lambdas/operations/estimate/test_routing.py::"
        "test_data_takes_the_way_through_a_third_region_where_that_is_wider",
    ),
    *unused(
        "cpt-grow-relays cpt-replan-routes",
        "dynamodb:BatchGetItem",
        "Routes are planned again while data moves, a minute after their relays have joined.",
        "lambdas/operations/fleet/test_replanning.py::test_route_that_became_slow_is_replaced_by_another_and_drained",
    ),
    *unused(
        "cpt-close-window",
        "events:PutEvents",
        "If the transfer of a window cannot start, an event says so.",
        "lambdas/operations/intake/test_collecting.py::test_a_window_that_cannot_start_is_tried_each_minute_and_then_named",
    ),
    *unused(
        "cpt-collect-object",
        "events:PutEvents",
        "If the schedule of a window was not made before its end, an event takes its place.",
        "lambdas/operations/intake/test_collecting.py::test_a_schedule_that_was_not_made_in_time_is_an_event",
    ),
    *unused(
        "cpt-close-window",
        "sqs:SendMessage",
        "Lambda puts there what the function failed on for the last time. No recorded run did.",
    ),
    *unused(
        "cpt-starts-*",
        "sqs:SendMessage",
        "Scheduler puts there what it could not hand to the function within an hour. No recorded run lost any.",
    ),
    *unused(
        "cpt-start-from-schedule",
        "events:PutEvents",
        "If a schedule’s request cannot work, an event says so.",
        "lambdas/handlers/reactions/test_start_from_schedule.py::test_request_that_cannot_work_is_told_by_event",
    ),
    *unused(
        "cpt-validate-request",
        "dynamodb:DeleteItem",
        "A resumed transfer deletes the node records of its previous run.",
        "lambdas/handlers/states/test_validate_request.py::"
        "test_resumed_it_is_the_next_run_of_the_same_transfer_and_finds_nothing_of_the_last_one",
        on="*/cpt-nodes",
    ),
    *_reported_by_hand("dynamodb:GetItem dynamodb:UpdateItem", "*/cpt-profiles"),
    *_reported_by_hand("dynamodb:Query", "*/cpt-chunks"),
    *_reported_by_hand("events:PutEvents", "*"),
    *unused(
        "cpt-endpoint",
        "s3:GetObject s3:PutObject",
        "Instances launched before 2016 may have ids of 8 digits. In the local cloud ids have 17.",
        on="*:instance/i-[?][?][?][?][?][?][?][?]+*",
    ),
)
