"""The key that both ends share can be read in one way only."""

from itertools import permutations

from lambdas.core.transfer.partition import machines_in, partition_of

ARN = "arn:aws-us-gov:states:us-gov-west-1:123456789012:execution:cpt-transfer:nightly"
ENDS = [("us-gov-west-1", "i-0aaaaaaaaaaaaaaaa"), ("us-gov-east-1", "i-0bbbbbbbbbbbbbbbb")]


def test_it_names_both_machines_in_the_partition_and_account_of_the_execution_and_the_transfer() -> None:
    assert partition_of(ARN, ENDS, "nightly") == (
        "arn:aws-us-gov:ec2:us-gov-west-1:123456789012:instance/i-0aaaaaaaaaaaaaaaa+"
        "arn:aws-us-gov:ec2:us-gov-east-1:123456789012:instance/i-0bbbbbbbbbbbbbbbb+nightly"
    )


def test_transfers_that_differ_in_a_machine_its_side_or_the_id_share_nothing() -> None:
    others = [*ENDS, ("us-gov-west-1", "i-0cccccccccccccccc")]
    keys = [partition_of(ARN, pair, name) for pair in permutations(others, 2) for name in ("nightly", "nightly-2")]
    assert len(set(keys)) == len(keys) == 12


def test_it_says_how_many_machines_share_it() -> None:
    machines = [*ENDS, ("us-gov-west-1", "i-0cccccccccccccccc")]
    assert [machines_in(partition_of(ARN, machines[:count], "nightly-2")) for count in (2, 3)] == [2, 3]
