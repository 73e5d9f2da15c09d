"""Which deployment a command is for: options, then the environment, then the nearest file."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import listing
from cli.aws import Aws, enrolled, home
from cli.exit_codes import ExitCode
from cli.main import app

HERE = '[deployment]\nregion = "eu-west-1"\nname = "here"\nprofile = "movers"\n'
USER = '[deployment]\nregion = "sa-east-1"\n'
CDK = json.dumps({"context": {"cpt": {"homeRegion": "us-west-2", "name": "checkout", "regions": {"us-west-2": {}}}}})


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory and a home without any file, and an environment without a word."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("CPT_REGION", "CPT_DEPLOYMENT", "CPT_PROFILE", "CPT_TENANT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Aws]:
    """The deployments that `cpt list` is for; it asks none."""
    seen: list[Aws] = []

    def look(*, local: bool) -> Aws:
        seen.append(home(local=local))
        raise SystemExit(0)

    monkeypatch.setattr(listing, "home", look)
    return seen


def write(*names: str) -> None:
    texts = {"cpt.toml": HERE, "cdk.json": CDK, "config/cpt/config.toml": USER}
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(texts[name])


@pytest.mark.parametrize(
    ("files", "options", "environment", "found"),
    [
        (("config/cpt/config.toml",), (), {}, ("sa-east-1", "cpt", None)),
        (("config/cpt/config.toml", "cdk.json"), (), {}, ("us-west-2", "checkout", None)),
        (("config/cpt/config.toml", "cdk.json", "cpt.toml"), (), {}, ("eu-west-1", "here", "movers")),
        ((), ("--region", "us-east-1"), {}, ("us-east-1", "cpt", None)),
        ((), ("--region", "us-east-1", "--deployment", "blue", "--profile", "p"), {}, ("us-east-1", "blue", "p")),
        ((), (), {"CPT_REGION": "us-east-1", "CPT_DEPLOYMENT": "blue"}, ("us-east-1", "blue", None)),
        ((), ("--region", "us-east-2"), {"CPT_REGION": "us-east-1"}, ("us-east-2", "cpt", None)),
        # The file's name is that of its own region's deployment; whose credentials are used is another matter.
        (("cpt.toml",), ("--region", "us-east-1"), {}, ("us-east-1", "cpt", "movers")),
        (("cpt.toml",), ("--region", "eu-west-1"), {}, ("eu-west-1", "here", "movers")),
        (("cpt.toml",), ("--deployment", "blue"), {"CPT_PROFILE": "p"}, ("eu-west-1", "blue", "p")),
    ],
)
def test_the_nearest_that_says_it_counts(
    files: tuple[str, ...],
    options: tuple[str, ...],
    environment: dict[str, str],
    found: tuple[str, str, str | None],
    asked: list[Aws],
) -> None:
    write(*files)
    answer = CliRunner().invoke(app, [*options, "list"], env=environment)
    assert answer.exit_code == 0, answer.output
    assert [(aws.region, aws.deployment, aws.profile) for aws in asked] == [found]


def test_where_nothing_says_it_the_ways_to_say_it_are_told(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["list"])
    assert answer.exit_code == ExitCode.USAGE
    for way in ("--region REGION", "CPT_REGION", "cpt.toml", str(tmp_path / "config/cpt/config.toml"), "cdk.json"):
        assert way in answer.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("region", "is not TOML: "),
        ('region = "eu-west-1"', "has no table deployment; write [deployment] with region"),
        ('[deployment]\nregon = "x"', "deployment.regon is not a known key; the keys are region, name, profile"),
        ("[deployment]\nregion = 5", "deployment.region 5 is not valid; write a string"),
        ('[deployment]\nregion = ""', 'deployment.region "" is not valid; write a string'),
        (HERE + "[more]\n", "more is not a known key; the keys are deployment"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_is_right(text: str, words: str, tmp_path: Path) -> None:
    Path("cpt.toml").write_text(text)
    answer = CliRunner().invoke(app, ["list"])
    assert answer.exit_code == ExitCode.USAGE
    assert answer.stderr.startswith(f"cpt: {tmp_path / 'cpt.toml'}")
    assert words in answer.stderr


def test_regions_are_those_of_the_checkout_where_it_is_the_one_that_is_meant() -> None:
    write("cdk.json")
    assert enrolled(home(local=False)) == ("us-west-2",)


def test_a_tenant_is_said_by_option_variable_or_file(asked: list[Aws], tmp_path: Path) -> None:
    said: list[tuple[list[str], dict[str, str]]] = [
        (["--region", "eu-west-1", "--tenant", "acme"], {}),
        (["--region", "eu-west-1"], {"CPT_TENANT": "beta"}),
        (["--region", "eu-west-1"], {}),
        ([], {}),
    ]
    tmp_path.joinpath("cpt.toml").write_text(f'{HERE}tenant = "gamma"\n')
    for words, variables in said:
        CliRunner().invoke(app, [*words, "list"], env=variables)
    assert [one.tenant for one in asked] == ["acme", "beta", "gamma", "gamma"]


@pytest.mark.parametrize("tenant", ["big-co", "1st", "Acme", "a" * 21])
def test_what_no_tenant_is_called_is_refused(tenant: str) -> None:
    answer = CliRunner().invoke(app, ["--region", "eu-west-1", "--tenant", tenant, "list"])
    assert answer.exit_code == ExitCode.USAGE
    assert f"tenant '{tenant}' is not valid; write --tenant" in answer.output
