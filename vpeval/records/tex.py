"""LaTeX source and text, distinguished by type: whatever is not known to be source is set literally."""

from __future__ import annotations

from collections.abc import Iterable

_SPECIAL = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"} | {c: f"\\{c}" for c in "&%$#_{}"}


class Tex(str):
    """LaTeX source. Any other string in a table is a name from somebody's data, and is escaped."""

    __slots__ = ()


def escape(text: str) -> Tex:
    r"""Text as LaTeX sets it literally; source stays as it is.

    >>> escape(r"\input{x} 5_%"), escape(Tex(r"$\infty$"))
    ('\\textbackslash{}input\\{x\\} 5\\_\\%', '$\\infty$')
    """
    return text if isinstance(text, Tex) else Tex("".join(_SPECIAL.get(letter, letter) for letter in text))


def join_cells(cells: Iterable[str]) -> str:
    """A row of a table."""
    return " & ".join(map(escape, cells))
