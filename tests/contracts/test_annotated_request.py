"""The annotated request has every key of the contract, says something of each, and is accepted as it stands."""

import json
import re
from typing import Any

from jsonschema import Draft202012Validator

from lambdas.core.request.request import Limits, TransferRequest, parse_request
from tests.docs.test_pages import keys
from tests.paths import CONTRACTS, ROOT

FILE = CONTRACTS / "examples" / "transfer-request.annotated.jsonc"
SCHEMA = json.loads((CONTRACTS / "transfer-request.schema.json").read_text())
LIMITS = Limits(regions=("us-west-2", "eu-west-1"), max_pairs=16, instance_types=("t3.small",))
# A line that is commented out because it contradicts another one: `// "key": value,`.
ASIDE = re.compile(r'^ *// ("[A-Za-z$]+": ["\d\[{].*?),?$')
OPENED = re.compile(r'^ *"(\w+)": \{$')


def uncommented() -> dict[str, Any]:
    lines = [line for line in FILE.read_text().splitlines() if not line.lstrip().startswith("//")]
    return dict(json.loads("\n".join(lines)))


def asides() -> list[tuple[list[str], dict[str, Any]]]:
    """Each key that is commented out: the objects that it stands in, and it with its value."""
    found, within = [], []
    for line in FILE.read_text().splitlines():
        if opened := OPENED.match(line):
            within.append(opened[1])
        elif line.strip() in ("}", "},") and within:
            within.pop()
        elif aside := ASIDE.match(line):
            found.append((list(within), json.loads(f"{{{aside[1]}}}")))
    return found


def dotted(document: dict[str, Any], prefix: str = "") -> set[str]:
    found = set()
    for key, value in document.items():
        found |= {f"{prefix}{key}"} | (dotted(value, f"{prefix}{key}.") if isinstance(value, dict) else set())
    return found


def test_it_is_accepted_as_it_stands() -> None:
    document = uncommented()
    Draft202012Validator(SCHEMA).validate(document)
    assert parse_request(document, LIMITS).select.max_size_bytes == 8 * 10**9


def test_what_is_commented_out_is_valid_by_itself() -> None:
    minimal = json.loads((CONTRACTS / "examples/good/transfer-request/minimal.json").read_text())
    assert len(asides()) == 13
    for within, entry in asides():
        document = json.loads(json.dumps(minimal))
        place = document
        for name in within:
            place = place.setdefault(name, {})
        place |= entry
        if "instanceIds" in entry:
            del place["instanceId"]
        Draft202012Validator(SCHEMA).validate(document)
        TransferRequest.from_document(document)


def test_it_has_every_key_of_the_contract_and_no_other() -> None:
    aside = {".".join([*within, key]) for within, entry in asides() for key in dotted(entry)}
    has = dotted(uncommented()) | aside
    assert set(keys(SCHEMA, SCHEMA)) - has == set()


def test_the_page_on_use_leads_to_it() -> None:
    assert f"](../{FILE.relative_to(ROOT)})" in (ROOT / "docs" / "use.md").read_text()
