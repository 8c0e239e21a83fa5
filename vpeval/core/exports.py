"""What a package offers under its own name, imported when it is first asked for.

A package that imported its modules would make every scorer start with all of them, and every step depend on all code.
Types are in the stub (``__init__.pyi``) beside the package; a test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def offer(package: str, names: Mapping[str, str]) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package; `names` leads from a name to ``<module>.<object>``."""

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module '{package}' has no attribute '{name}'; it offers {', '.join(sorted(names))}")
        module, _, target = names[name].rpartition(".")
        return getattr(import_module(f"{package}.{module}"), target)

    return sorted(names), find, lambda: sorted(names)
