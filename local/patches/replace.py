"""Replacing a function that other modules have taken by name."""

from __future__ import annotations

import sys
from typing import Any


def replace_everywhere(package: str, old: Any, new: Any) -> None:
    """Set `new` in every loaded module of `package` that holds `old` under some name.

    Raises LookupError when none does: the pinned version changed and the patch would silently do nothing.
    """
    found = 0
    for module_name, module in list(sys.modules.items()):
        if module_name == package or module_name.startswith(package + "."):
            for name, value in list(vars(module).items()):
                if value is old:
                    setattr(module, name, new)
                    found += 1
    if not found:
        raise LookupError(f"{package} has no {old!r}: its version is not the one that is pinned")


def override(owner: Any, **attributes: Any) -> None:
    """Set attributes of a module or class of the emulator. Raises LookupError for one that it does not have."""
    for name, new in attributes.items():
        if not hasattr(owner, name):
            raise LookupError(f"{owner!r} has no {name}: its version is not the one that is pinned")
        setattr(owner, name, new)
