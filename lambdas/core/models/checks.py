"""Checks of numbers that people give: the message names the parameter, the value and what is right."""

from math import isfinite


def positive(name: str, value: float, unit: str) -> None:
    """Raise ValueError unless `value` is a finite number above 0."""
    if not (isfinite(value) and value > 0):
        raise ValueError(f"{name}: {value}; must be a finite number of {unit} above 0")


def positive_or_unlimited(name: str, value: float, unit: str) -> None:
    """Raise ValueError unless `value` is above 0; infinity says that nothing limits."""
    if not value > 0:
        raise ValueError(f"{name}: {value}; must be a number of {unit} above 0, or inf for no limit")


def not_negative(name: str, value: float, unit: str) -> None:
    """Raise ValueError unless `value` is 0 or more; infinity (it never ends) is such a value."""
    if not value >= 0:
        raise ValueError(f"{name}: {value}; must be a number of {unit}, 0 or more")


def at_least_one(name: str, value: int) -> None:
    """Raise ValueError unless `value` is 1 or more."""
    if value < 1:
        raise ValueError(f"{name}: {value}; must be a whole number, 1 or more")
