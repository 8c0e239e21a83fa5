"""Evaluation of voice anonymisation: the library behind the recipe scripts, described in docs/library.md.

Scripts in ``steps/``, ``local/`` and ``utils/`` parse options and read files; what is computed lives here.
Nothing is imported by this file, so that a scorer starts fast; ``vpeval.metrics``, ``vpeval.results`` and
``vpeval.data`` are when they are asked for.
"""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """The packages for people who imported nothing but this one."""
    if name in ("data", "metrics", "results"):
        from importlib import import_module

        return import_module(f"vpeval.{name}")
    raise AttributeError(f"module 'vpeval' has no attribute '{name}'")
