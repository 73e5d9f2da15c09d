"""Templates of pages, with the words for quantities that all pages have."""

from collections.abc import Callable

from jinja2 import Environment, PackageLoader, StrictUndefined

from lambdas.core import words


def environment(package: str, **filters: Callable[..., str]) -> Environment:
    """The templates below `package`; every name in them is data, and an unknown one is an error."""
    made = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    quantities = {
        "size": words.size,
        "duration": words.duration,
        "rate": words.rate,
        "age": words.age,
        "dollars": words.dollars,
        "moment": words.moment,
    }
    made.filters.update(quantities | filters)
    made.globals["many"] = words.many
    return made
