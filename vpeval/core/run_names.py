"""Names of runs with different seeds: data, trainings and results of each have their own."""

from __future__ import annotations

import re

_SEEDED = re.compile(r"(?P<base>.+)_seed(?P<seed>[1-9][0-9]*)")


def with_seed(name: str, seed: int) -> str:
    """The name of what a run with a seed makes; seed 0 has none.

    >>> with_seed("mcadams", 0), with_seed("mcadams", 2)
    ('mcadams', 'mcadams_seed2')
    """
    return f"{name}_seed{seed}" if seed else name


def base_and_seed(name: str) -> tuple[str, int]:
    """A system without its seed, and the seed.

    >>> base_and_seed("mcadams_seed2"), base_and_seed("mcadams")
    (('mcadams', 2), ('mcadams', 0))
    """
    match = _SEEDED.fullmatch(name)
    return (match["base"], int(match["seed"])) if match else (name, 0)
