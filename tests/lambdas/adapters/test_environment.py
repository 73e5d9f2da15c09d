import json
from pathlib import Path
from typing import Any

import pytest

from lambdas.adapters.environment import DaemonAsset, Environment, MissingVariableError, spread

CONTRACTS = Path("contracts")
SHARED = {"SETTINGS": (CONTRACTS / "examples/good/function-environment/two-regions.json").read_text()}
GOOD = {name: value for name, value in spread(SHARED).items() if name not in SHARED}
CONTRACT = json.loads((CONTRACTS / "function-environment.schema.json").read_text())
OPTIONAL = {"POLL_SECONDS"}  # benchmarks and tests set it


class Asked(dict[str, str]):
    """Variables that remember which of them were read."""

    def __init__(self) -> None:
        super().__init__(GOOD)
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


def test_variables_that_are_read_are_those_of_the_contract() -> None:
    asked = Asked()
    Environment.from_env(asked)
    assert asked.names == {*CONTRACT["properties"], *OPTIONAL}


def test_environment_is_typed() -> None:
    env = Environment.from_env(GOOD)
    assert (env.regions, env.max_pairs, env.poll_seconds) == (("us-west-2", "eu-west-1"), 8, 1.0)
    assert env.daemon_assets["eu-west-1"] == {"x86_64": DaemonAsset("s3://assets-eu-west-1/d", "0" * 64)}
    subnets = {**GOOD, "SUBNET_IDS": '{"eu-west-1": ["subnet-0123456789abcdef0"]}'}
    assert Environment.from_env(subnets).subnet_ids == {"eu-west-1": ("subnet-0123456789abcdef0",)}
    assert Environment.from_env({**GOOD, "POLL_SECONDS": "0.2"}).poll_seconds == 0.2
    assert env.max_cost_usd is None
    assert Environment.from_env({**GOOD, "MAX_COST_USD": "7.5"}).max_cost_usd == 7.5


def test_what_all_functions_have_alike_stands_in_one_variable_and_what_a_function_has_itself_comes_first() -> None:
    assert Environment.from_env(spread({**SHARED, "AWS_REGION": "us-west-2"})) == Environment.from_env(GOOD)
    own = spread({**SHARED, "CHUNKS_TABLE": "another", "POLL_SECONDS": "0.2"})
    assert Environment.from_env(own) == Environment.from_env({**GOOD, "CHUNKS_TABLE": "another", "POLL_SECONDS": "0.2"})
    assert spread(GOOD) == GOOD, "a deployment of before has each variable by itself"


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
