"""Text normalisers: from a transcript to the words that are compared, one per challenge edition.

The same normaliser is applied to reference and hypothesis, so that only words, never spelling habits, are scored.
Some recognisers write "1849" where the reference has "eighteen forty nine". A figure can be read in several ways: as a
number, as a year, digit by digit. In a hypothesis the reading closest to the reference is used; it is found by aligning
the reference with all readings at once. In a reference the usual reading is used. The package inflect spells numbers.

>>> vpc2020("At seven o’clock -- the 'well-known' guide came.")
['AT', 'SEVEN', "O'CLOCK", 'THE', 'WELL', 'KNOWN', 'GUIDE', 'CAME']
>>> vpc2024("at Seven o'clock.")
['at', 'Seven', "o'clock."]
>>> vpc2026("At seven o'clock, the well-known guide came.")
['at', 'seven', "o'clock", 'the', 'wellknown', 'guide', 'came']
>>> spell_closest("In 1849 he paid $5.", "in eighteen forty nine he paid five dollars".split(), str.split)
'In eighteen forty nine he paid five dollars .'
>>> spell_closest("1 2 305", "one two three zero five".split(), str.split)
'one two three zero five'
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

Words = list[str]
Normalizer = Callable[[str], Words]

_APOSTROPHES = re.compile("[’‘ʼ＇`]")
_SEPARATORS = re.compile(r"[-‐‑‒–—―/_]")
_NOT_WORD = re.compile(r"[^\w\s']")
_OUTER_APOSTROPHE = re.compile(r"(?<!\w)'+|'+(?!\w)")
_PUNCTUATION_2026 = str.maketrans("", "", '.,!?;:»«"“”()[]…—–-')
_FIGURE = re.compile(r"(?P<money>[$£€])?(?P<digits>\d+(?:[.,:]\d+)*)(?P<end>st|nd|rd|th|s|%)?(?![\d])", re.IGNORECASE)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_MONEY = {"$": "dollar", "£": "pound", "€": "euro"}
_LARGEST = 15
"""Digits beyond which nobody says a number as one."""


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
AS_WRITTEN, OF_ANY_SPELLING = "vpc2024", "vpc2020"
"""The rules that change nothing, and those that make transcripts of any recogniser comparable."""


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


def has_figures(text: str) -> bool:
    """Whether there is anything to spell."""
    return _FIGURE.search(text) is not None


def spell(text: str) -> str:
    """A text with every figure as it is usually read.

    >>> spell("At 7:30 the 2nd of 1,200 guests left; 12% stayed.")
    'At seven thirty the second of one thousand two hundred guests left; twelve percent stayed.'
    """
    return _FIGURE.sub(lambda match: " ".join(readings(match.group(0))[0]), text)


def spell_closest(text: str, reference: Sequence[str], normalize: Callable[[str], Words]) -> str:
    """A text with every figure as it is read in `reference`, words that `normalize` has made, or close to it."""
    segments: list[list[str]] = []
    last = 0
    for match in _FIGURE.finditer(text):
        segments += [[text[last : match.start()]], [" ".join(words) for words in readings(match.group(0))]]
        last = match.end()
    segments.append([text[last:]])
    chosen = _closest([[normalize(each) for each in alternatives] for alternatives in segments], list(reference))
    spelt = (alternatives[i].strip() for alternatives, i in zip(segments, chosen, strict=True))
    return " ".join(part for part in spelt if part)


def readings(figure: str) -> list[Words]:
    """The ways to read a figure, the usual one first."""
    match = _FIGURE.fullmatch(figure)
    if match is None:
        raise ValueError(figure)
    digits, end = match["digits"], (match["end"] or "").lower()
    may_be_year = end in ("", "s") and not match["money"] and digits.isdigit()
    if _THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    found = [_ending(each, end) for each in _numbers(digits, may_be_year)]
    if match["money"]:
        name = _MONEY[match["money"]]
        found = [[*each, name if each == ["one"] else f"{name}s"] for each in found]
    unique = list(dict.fromkeys(tuple(each) for each in found))
    return [list(each) for each in unique]


def _numbers(digits: str, may_be_year: bool) -> list[Words]:
    """Readings of digits that may be parted by points, commas or colons."""
    digit_by_digit = [word for digit in re.sub(r"\D", "", digits) for word in _words(digit)]
    with_oh = ["oh" if word == "zero" else word for word in digit_by_digit]
    if ":" in digits:
        hour, *rest = digits.split(":")
        minutes = [word for part in rest for word in _minutes(part)]
        clock = [[*_words(hour), "o'clock"]] if set("".join(rest)) == {"0"} else []
        return [[*_words(hour), *minutes], *clock, digit_by_digit]
    if "." in digits or "," in digits:
        parts = re.split(r"[.,]", digits)
        pointed = [*_words(parts[0]), "point", *(word for digit in "".join(parts[1:]) for word in _words(digit))]
        listed = [word for part in parts for word in _words(part)]
        return [pointed, listed, digit_by_digit] if "." in digits else [listed, pointed, digit_by_digit]
    if len(digits) > _LARGEST or (len(digits) > 1 and digits[0] == "0"):
        return [digit_by_digit, with_oh]
    number = _words(digits)
    found = [number, _words(digits, "and"), *_pairs(digits)]
    if may_be_year and len(digits) == 4 and 1100 <= int(digits) <= 1999:
        found = [*_pairs(digits), *found]
    # Some rules of text leave hyphens out and do not part the words.
    hyphened = _engine().number_to_words(digits, andword="").replace(",", "").split()
    return [*found, digit_by_digit, with_oh, hyphened]


def _pairs(digits: str) -> list[Words]:
    """Two digits at a time, as years are read: nineteen ninety, nineteen oh five, nineteen hundred."""
    if len(digits) not in (3, 4) or digits.endswith("000"):
        return []
    first, second = digits[:-2], digits[-2:]
    if second == "00":
        return [[*_words(first), "hundred"]]
    if second[0] == "0":
        return [[*_words(first), "oh", *_words(second[1])], [*_words(first), "zero", *_words(second[1])]]
    return [[*_words(first), *_words(second)]]


def _minutes(digits: str) -> Words:
    if set(digits) == {"0"}:
        return []
    return ["oh", *_words(digits[1:])] if len(digits) == 2 and digits[0] == "0" else _words(digits)


def _ending(words: Words, end: str) -> Words:
    if end == "%":
        return [*words, "percent"]
    if end == "s":
        return [*words[:-1], _engine().plural_noun(words[-1])]
    if end:
        return str(_engine().ordinal(" ".join(words))).split()
    return words


@cache
def _spelt(digits: str, andword: str) -> tuple[str, ...]:
    text = str(_engine().number_to_words(digits.lstrip("0") or "0", andword=andword))
    return tuple(text.replace(",", "").replace("-", " ").split())


def _words(digits: str, andword: str = "") -> Words:
    if len(digits) > _LARGEST:
        return [word for digit in digits for word in _spelt(digit, andword)]
    return list(_spelt(digits, andword))


@cache
def _engine() -> Any:
    import inflect  # only where there are figures: it takes a moment to load

    return inflect.engine()


def _closest(segments: list[list[Words]], reference: Words) -> list[int]:
    """Which alternative of every segment together give the fewest errors; of equal ones the first.

    Levenshtein's programme over a chain of alternatives. A state is how much of the reference has been passed; for
    each, the best cost and, for the way back, the alternative and the state before the segment.
    """
    costs = list(range(len(reference) + 1))
    steps: list[list[tuple[int, int]]] = []
    for alternatives in segments:
        best: list[tuple[int, int, int]] = []
        for number, words in enumerate(alternatives):
            passed = _pass(costs, words, reference)
            ends = [(cost, number, origin) for cost, origin in passed]
            best = ends if not best else [min(old, new) for old, new in zip(best, ends, strict=True)]
        costs = [cost for cost, _, _ in best]
        steps.append([(number, origin) for _, number, origin in best])
    state = len(reference)
    chosen = []
    for step in reversed(steps):
        number, state = step[state]
        chosen.append(number)
    return chosen[::-1]


def _pass(costs: list[int], words: Words, reference: Words) -> list[tuple[int, int]]:
    """Costs after `words`, and from which state each came."""
    row = [(cost, state) for state, cost in enumerate(costs)]
    for word in words:
        new = [(row[0][0] + 1, row[0][1])]
        for state in range(1, len(row)):
            differs = word != reference[state - 1]
            new.append(
                min(
                    (row[state - 1][0] + differs, row[state - 1][1]),
                    (row[state][0] + 1, row[state][1]),
                    (new[state - 1][0] + 1, new[state - 1][1]),
                )
            )
        row = new
    return row
