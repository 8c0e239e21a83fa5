"""Objects that are imported when they are first needed: what a package offers, optional packages, slow modules.

A package that imported its modules would make every scorer start with all of them, and every result depend on all code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from vpeval.core.errors import InputError


@dataclass(frozen=True)
class Deferred:
    """An object of a module that takes long to import, such as one that needs torch.

    Whoever loads it and whoever asks for its code (`vpeval.jobs.code`) use the same `Deferred`, so that the two cannot
    differ.
    """

    module: str
    name: str

    def load(self) -> Any:
        """The object itself."""
        return getattr(import_module(self.module), self.name)


def offer(package: str, names: Mapping[str, str]) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package; `names` leads from a name to ``<module>.<object>``.

    Types are in the stub (``__init__.pyi``) next to the package; a test compares the two.
    """

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module '{package}' has no attribute '{name}'; it offers {', '.join(sorted(names))}")
        module, _, target = names[name].rpartition(".")
        return getattr(import_module(module if module.startswith("vpeval.") else f"{package}.{module}"), target)

    return sorted(names), find, lambda: sorted(names)


def modules_of(package: str) -> list[ModuleType]:
    """All modules of a package, by name: those that extend the toolkit by being there."""
    path = import_module(package).__path__
    return [import_module(f"{package}.{found.name}") for found in sorted(iter_modules(path), key=lambda one: one.name)]


def require(module: str, purpose: str) -> ModuleType:
    """Import an optional module; `purpose` begins the error message if it cannot be imported."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise InputError(
            f"{purpose} needs the package '{package}'; install it with 'pip install -r requirements-optional.txt'"
        ) from None
