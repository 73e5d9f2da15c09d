"""Every golden example is judged by its schema as its folder says, and every contract has both kinds."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

CONTRACTS = Path(__file__).parents[2] / "contracts"
SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in CONTRACTS.glob("*.schema.json")
}
EXAMPLES = sorted(path.relative_to(CONTRACTS / "examples") for path in CONTRACTS.glob("examples/*/*/*.json"))


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_schema_is_valid_and_has_good_and_bad_examples(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    kinds = {example.parts[0] for example in EXAMPLES if example.parts[1] == name}
    assert kinds == {"good", "bad"}


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_is_judged_as_its_folder_says(example: Path) -> None:
    kind, contract, _ = example.parts
    document = json.loads((CONTRACTS / "examples" / example).read_text())
    assert Draft202012Validator(SCHEMAS[contract]).is_valid(document) == (kind == "good")
