"""The figures and choices that a person gives to `cpt estimate`, by option; what is wrong is named by option."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, cast, get_args

from cli.quantities import OptionError, above_zero, deadline_seconds, not_negative, pair_range
from lambdas.core.estimate.model_table import WITHOUT_RELAYS, GivenFigures
from lambdas.core.models.models import ModelName
from lambdas.core.request.request import Objective

ALL_MODELS: tuple[ModelName, ...] = get_args(ModelName)
GOALS = ("time", "cost", "energy", "balanced")
RATES = ("--vi", "--ve", "--ve-pair", "--v-src", "--v-dst", "--vs")
SECONDS = ("--tv", "--pre-test", "--export", "--import")
DOLLARS = ("--price-hour", "--egress")
KEYS = {
    "minimise": "--minimise",
    "valueOfTimeUsdPerHour": "--value-of-time",
    "maxCostUsd": "--max-cost",
    "deadlineSeconds": "--deadline",
}
NEEDED = ("--vi", "--ve", "--tv")


class Given:
    """Options that were given, by name, as typed; each method raises OptionError."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    @property
    def priced(self) -> bool:
        """A cost can be computed."""
        return any(name in self._options for name in DOLLARS)

    @staticmethod
    def in_options(message: str) -> str:
        """A message about a request's fields, as one about options."""
        for key, option in KEYS.items():
            message = message.replace(f"$.objective.{key}", option)
        return message

    def refuse_beside(self, request: str) -> None:
        """A request file says all but the size."""
        for name, value in self._options.items():
            raise OptionError(name, value, f"cannot stand beside {request}: change the request, or leave the file out")

    def refuse_choice_beside_models(self) -> None:
        """A comparison of models chooses nothing."""
        for name in KEYS.values():
            if name in self._options:
                raise OptionError(
                    name, self._options[name], "--model compares and chooses nothing; leave one of them out"
                )

    def figures(self) -> GivenFigures:
        """Return what the models take, with the defaults filled in."""
        for name in NEEDED:
            if name not in self._options:
                raise OptionError(name, "(missing)", "give it, or a request file; cpt estimate --help shows examples")
        given = {name: text for name, text in self._options.items() if name in (*RATES, *SECONDS, *DOLLARS)}
        options = {name: self._figure(name, text) for name, text in given.items()}
        return GivenFigures(
            intra=options["--vi"],
            inter=options["--ve"],
            pair_inter=options.get("--ve-pair", options["--ve"]),
            source=options.get("--v-src", options["--vi"]),
            destination=options.get("--v-dst", options["--vi"]),
            split=options.get("--vs"),
            spawn_seconds=options["--tv"],
            pre_test_seconds=options.get("--pre-test", 60.0),
            export_seconds=options.get("--export", 0.0),
            import_seconds=options.get("--import", 0.0),
            relay_hour_usd=options.get("--price-hour", 0.0),
            egress_usd_per_gb=options.get("--egress", 0.0),
        )

    @staticmethod
    def _figure(name: str, text: str) -> float:
        if name in RATES:
            return above_zero(name, text, "MB/s", "90")
        unit, example = ("seconds", "60") if name in SECONDS else ("dollars", "0.02")
        return not_negative(name, text, unit, example)

    def models(self) -> Sequence[ModelName]:
        """Those to compare; none where a recommendation is wanted."""
        name = self._options.get("--model")
        if name is None:
            return ()
        if name == "all":
            return ALL_MODELS
        if name not in ALL_MODELS:
            raise OptionError("--model", name, f"write all, or one of {', '.join(ALL_MODELS)}")
        return (name,)

    def refuse_pre_test_without(self, models: Sequence[ModelName]) -> None:
        """Of all that figures are for, only one model has a pre-test: elsewhere it would change nothing."""
        if "--pre-test" in self._options and "pre-tested" not in models:
            raise OptionError("--pre-test", self._options["--pre-test"], "only a model has it: add --model pre-tested")

    def pairs(self, for_models: Sequence[ModelName] = WITHOUT_RELAYS) -> range:
        """Return the numbers of relay pairs that the table has rows for; raises OptionError."""
        text = self._options.get("--pairs", "0..8")
        wanted = pair_range(text)
        if wanted[-1] == 0 and not set(for_models) & set(WITHOUT_RELAYS):
            raise OptionError("--pairs", text, f"the model {for_models[0]} is one of relays; write 1 or more")
        return wanted

    def objective(self) -> Objective:
        """Return what to choose by."""
        options = self._options
        minimise = options.get("--minimise", "balanced")
        if minimise not in GOALS:
            raise OptionError("--minimise", minimise, f"write one of {', '.join(GOALS)}")
        most = options.get("--max-cost")
        max_cost = None if most is None else above_zero("--max-cost", most, "dollars", "5")
        if not self.priced and (minimise == "cost" or "--max-cost" in options):
            raise OptionError(
                "--price-hour", "(missing)", "give it, and --egress: without prices no cost can be chosen by"
            )
        deadline = options.get("--deadline")
        objective = Objective(
            minimise=cast(Literal["time", "cost", "energy", "balanced"], minimise),
            value_of_time_usd_per_hour=self._dollars("--value-of-time", "10"),
            max_cost_usd=max_cost,
            deadline_seconds=None if deadline is None else deadline_seconds(deadline, datetime.now(UTC)),
        )
        for key, why in objective.contradictions:
            raise OptionError(KEYS[key], options[KEYS[key]], f"{why}; leave one of them out")
        return objective

    def _dollars(self, name: str, example: str) -> float | None:
        text = self._options.get(name)
        return None if text is None else not_negative(name, text, "dollars", example)
