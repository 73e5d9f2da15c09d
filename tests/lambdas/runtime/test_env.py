import pytest

from lambdas.runtime.env import DaemonAsset, Environment, MissingVariableError

GOOD = {
    "DEPLOYMENT_NAME": "cpt",
    "HOME_REGION": "us-west-2",
    "REGIONS": '["us-west-2", "eu-west-1"]',
    "INSTANCE_TYPES": '["t3.small"]',
    "MAX_PAIRS": "8",
    "MAX_COST_USD": "none",
    "PRE_TEST_SECONDS": "10",
    "RELAY_TIME_TO_LIVE_SECONDS": "900",
    "CHUNK_RETENTION_SECONDS": "2764800",
    "INTER_REGION_PATH": "internet",
    "TRANSFERS_TABLE": "cpt-transfers",
    "CHUNKS_TABLE": "cpt-chunks",
    "NODES_TABLE": "cpt-nodes",
    "PROFILES_TABLE": "cpt-profiles",
    "CONTROL_TOKENS_TABLE": "cpt-control-tokens",
    "IDEMPOTENCY_TABLE": "cpt-idempotency",
    "CONTROL_BUCKET": "cpt-control",
    "EVENT_BUS": "cpt",
    "APPROVAL_TOPIC_ARN": "arn:aws:sns:us-west-2:000000000000:cpt-approvals",
    "STATE_MACHINE_ARN": "arn:aws:states:us-west-2:000000000000:stateMachine:cpt-transfer",
    "SUBNET_IDS": '{"eu-west-1": ["subnet-0123456789abcdef0"]}',
    "DAEMON_ASSETS": '{"buckets": {"us-west-2": "a"}, "files": {"x86_64": {"key": "b", "sha256": "00"}}}',
}


def test_environment_is_typed() -> None:
    env = Environment.from_env(GOOD)
    assert (env.regions, env.max_pairs, env.poll_seconds) == (("us-west-2", "eu-west-1"), 8, 1.0)
    assert env.subnet_ids == {"eu-west-1": ("subnet-0123456789abcdef0",)}
    assert env.daemon_assets == {"us-west-2": {"x86_64": DaemonAsset("s3://a/b", "00")}}
    assert Environment.from_env({**GOOD, "POLL_SECONDS": "0.2"}).poll_seconds == 0.2
    assert env.max_cost_usd is None
    assert Environment.from_env({**GOOD, "MAX_COST_USD": "7.5"}).max_cost_usd == 7.5


@pytest.mark.parametrize("name", GOOD)
def test_missing_variable_is_named(name: str) -> None:
    with pytest.raises(MissingVariableError, match=name):
        Environment.from_env({key: value for key, value in GOOD.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [("REGIONS", "us-west-2"), ("MAX_PAIRS", "many"), ("MAX_COST_USD", "much"), ("INTER_REGION_PATH", "pigeon")],
)
def test_wrong_value_is_named_with_what_would_be_right(name: str, value: str) -> None:
    with pytest.raises(MissingVariableError, match=f"{name} is '{value}'; give"):
        Environment.from_env({**GOOD, name: value})
