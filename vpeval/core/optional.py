"""Packages that only some measures need: asked for by name, with a remedy when they are missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from vpeval.core.errors import InputError


def require(module: str, purpose: str) -> ModuleType:
    """Import an optional module; `purpose` begins the complaint if it cannot be imported."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise InputError(
            f"{purpose} needs the package '{package}'; install it with 'pip install -r requirements-optional.txt'"
        ) from None
