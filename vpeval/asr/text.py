"""Text normalisers: from a transcript to the words that are compared, one per challenge edition.

The same normaliser is applied to reference and hypothesis, so that only words, never spelling habits, are scored;
figures in a hypothesis are read as the reference has them (`vpeval.asr.numbers`).

>>> vpc2020("At seven o’clock -- the 'well-known' guide came.")
['AT', 'SEVEN', "O'CLOCK", 'THE', 'WELL', 'KNOWN', 'GUIDE', 'CAME']
>>> vpc2024("at Seven o'clock.")
['at', 'Seven', "o'clock."]
>>> vpc2026("At seven o'clock, the well-known guide came.")
['at', 'seven', "o'clock", 'the', 'wellknown', 'guide', 'came']
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from vpeval.asr.numbers import has_figures, spell, spell_closest

Normalizer = Callable[[str], list[str]]

_APOSTROPHES = re.compile("[’‘ʼ＇`]")
_SEPARATORS = re.compile(r"[-‐‑‒–—―/_]")
_NOT_WORD = re.compile(r"[^\w\s']")
_OUTER_APOSTROPHE = re.compile(r"(?<!\w)'+|'+(?!\w)")
_PUNCTUATION_2026 = str.maketrans("", "", '.,!?;:»«"“”()[]…—–-')


def vpc2020(text: str) -> list[str]:
    """Upper case; letters, digits and apostrophes inside words stay; hyphens and slashes part words; the rest goes."""
    text = _APOSTROPHES.sub("'", unicodedata.normalize("NFC", text.upper()))
    text = _NOT_WORD.sub("", _SEPARATORS.sub(" ", text))
    return _OUTER_APOSTROPHE.sub("", text).split()


def vpc2024(text: str) -> list[str]:
    """No normalisation: words are what stands between single spaces."""
    return text.split(" ") if text else []


def vpc2026(text: str) -> list[str]:
    """Lower case; the edition's list of punctuation, hyphens included, is deleted."""
    return text.lower().translate(_PUNCTUATION_2026).split()


NORMALIZERS: dict[str, Normalizer] = {"vpc2020": vpc2020, "vpc2024": vpc2024, "vpc2026": vpc2026}


def compared_words(reference: str, hypothesis: str, normalizer: Normalizer) -> tuple[list[str], list[str]]:
    """The words of a reference and a hypothesis that are compared; figures are read as words, but by the rules of 2024.

    >>> compared_words("eighteen forty nine", "1849.", vpc2020)
    (['EIGHTEEN', 'FORTY', 'NINE'], ['EIGHTEEN', 'FORTY', 'NINE'])
    """
    if normalizer is not vpc2024:
        if has_figures(reference):
            reference = spell(reference)
        if has_figures(hypothesis):
            hypothesis = spell_closest(hypothesis, normalizer(reference), normalizer)
    return normalizer(reference), normalizer(hypothesis)
