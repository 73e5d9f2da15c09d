"""The pages hang together: nothing leads nowhere, nothing is left out, numbers are those of the template."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.main import app
from tests.docs.pages import FURTHER, PAGES, ROOT

README_LINES, README_WORDS = 125, 1150  # two pages of paper
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ALL = [*PAGES, *FURTHER]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """As the forges make them of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    dead = []
    for link in LINK.findall(page.read_text()):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_the_index_names_each_page() -> None:
    index = ROOT / "docs" / "README.md"
    named = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text())}
    assert [str(page) for page in ALL if page not in named and page != index] == []


def test_readme_fits_two_pages_and_shows_a_run() -> None:
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= README_LINES
    assert len(text.split()) <= README_WORDS
    assert "](docs/report.png)" in text


def test_each_command_is_listed_with_an_example() -> None:
    table = (ROOT / "docs" / "use.md").read_text().partition("## The commands")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*) \| .* \| `cpt (\S+).*` \|$", table, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row[0])]
    commands: Any = typer.main.get_command(app)
    shown = [name for name, command in commands.commands.items() if not command.hidden]
    assert sorted(listed) == sorted(shown)
    assert all(f"`{example}`" in names for names, example in rows)


def test_deployment_has_as_many_of_each_as_its_page_says() -> None:
    template = json.loads((ROOT / "cdk.out" / "cpt-control.template.json").read_text())
    kinds = Counter(resource["Type"] for resource in template["Resources"].values())
    row = next(
        line for line in (ROOT / "docs" / "deploy.md").read_text().splitlines() if line.startswith("| `cpt-control`")
    )
    of_queues = [each["Properties"] for each in template["Resources"].values() if each["Type"] == "AWS::SQS::Queue"]
    queues = sum(str(each["QueueName"]).endswith("-dead-letters") for each in of_queues)
    alarms = kinds["AWS::CloudWatch::Alarm"]
    for said in (
        f"{kinds['AWS::Lambda::Function']} functions",
        f"{word(kinds['AWS::DynamoDB::Table'] + kinds['AWS::DynamoDB::GlobalTable'])} tables",
        f"{word(kinds['AWS::Events::Rule'])} rules",
        f"{word(alarms - queues)} alarms and one for each of {word(queues)} dead-letter queues",
    ):
        assert said in row
    # An alarm costs as much as the metrics that it looks at: one, or those of its expression.
    resources = template["Resources"].values()
    looks = [resource["Properties"] for resource in resources if resource["Type"] == "AWS::CloudWatch::Alarm"]
    metrics = sum(sum("MetricStat" in query for query in alarm.get("Metrics", [{"MetricStat": 1}])) for alarm in looks)
    assert f"for each of {metrics} metrics" in (ROOT / "docs" / "cost.md").read_text()


def word(count: int) -> str:
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


def test_request_table_has_the_keys_of_the_schema() -> None:
    schema = json.loads((ROOT / "contracts" / "transfer-request.schema.json").read_text())
    section = (ROOT / "docs" / "use.md").read_text().partition("## The request")[2].partition("\n### ")[0]
    told: set[str] = set()
    for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
        first, *others = re.findall(r"`([\w.]+)`", row)
        parent = first.rpartition(".")[0]
        told |= {first, *(parent + other if other.startswith(".") else other for other in others)}
    assert told == set(keys(schema, schema)) - {"schemaVersion", "$schema"}


def keys(schema: dict[str, Any], root: dict[str, Any], prefix: str = "") -> list[str]:
    """Dotted, of all that holds no further keys."""
    found = []
    for name, value in schema.get("properties", {}).items():
        kinds = [each["$ref"].removeprefix("#/$defs/") for each in value.get("oneOf", []) if "$ref" in each]
        inner = [root["$defs"][kind] for kind in kinds] or [value]
        found += [key for each in inner for key in keys(each, root, f"{prefix}{name}.")] or [f"{prefix}{name}"]
    return found
