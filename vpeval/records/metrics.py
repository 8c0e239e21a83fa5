"""What every metric is to its readers: the one description that tables, figures, report and documentation use.

A measure (`vpeval.measures`) describes the metrics that it gives. Descriptions are found by looking through the
measures, so that a new measure is one new module. Values of records are not in the unit that is shown: `scale` leads
from one to the other (an EER of 0.0766 is shown as 7.66 %).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from vpeval.core.lazy import modules_of
from vpeval.records.tex import escape

Aspect = Literal["privacy", "utility"]
VERIFICATION, LEGAL, INFERENCE, SRD = "Speaker verification", "Legal criteria", "Inference", "Similarity ranks"
SIMILARITY, UTILITY, SPEAKERS, OTHER = "Voice similarity", "Utility", "Easy and hard speakers", "Other"
LISTENING = "Listening tests"
GROUPS = (VERIFICATION, LEGAL, INFERENCE, SRD, SIMILARITY, UTILITY, SPEAKERS, LISTENING, OTHER)
"""The groups of metrics, in the order of tables."""
KEY, OVERVIEW, SUMMARY, BY_SET = "key", "overview", "summary", "by set"
"""Where a metric is shown: key numbers of a system, the table of several systems, the summary on the screen, and there
set by set."""
SINGLING_OUT, LINKABILITY = "singling out", "linkability"
"""Criteria of Opinion 05/2014 on Anonymisation Techniques."""


@dataclass(frozen=True)
class Success:
    """How a verdict states the success of an attack: a label, and what the attack does to one of ``{N}`` speakers.

    The verdict has limits for it if it is `graded`.
    """

    label: str
    words: str
    graded: bool = True


@dataclass(frozen=True)
class Metric:
    """A metric as it is shown.

    `better` is +1 if a participant wants large values, -1 if small ones, 0 if neither. `chance` is the value (as in
    records) where nothing is disclosed; None where there is no such value or where it depends on the data, in which
    case the record states it. `shown` says where it is shown besides tables of everything; `place` orders the metrics
    of a group.
    """

    name: str
    title: str
    explanation: str
    latex: str = ""
    unit: str = ""
    scale: float = 1
    digits: int = 3
    better: int = 0
    chance: float | None = None
    aspect: Aspect = "privacy"
    group: str = OTHER
    place: int = 0
    shown: tuple[str, ...] = (SUMMARY,)
    key_place: int = 0
    """Its place among the key numbers of its aspect."""
    range: tuple[float, float] = (-math.inf, math.inf)
    """The values that are possible; a table with another one is refused."""
    requires: tuple[str, ...] = ()
    """Parameters and notes that its records must have, as its views show them."""
    identified_by: tuple[str, ...] = ()
    """Parameters that are shown with its name whether or not two numbers differ in them."""
    condition: str = ""
    """The condition that it belongs to where its records have none, as it compares with original speech."""
    estimator_of: str = ""
    """What several metrics estimate (`EER`): a page shows one of them."""
    replaces: str = ""
    """The metric that it is shown in place of, where both were measured."""
    criterion: str = ""
    """The criterion of Opinion 05/2014 that it belongs to."""
    success: Success | None = None
    """How a verdict states it; None if it does not."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "latex", self.latex or self.title)

    @property
    def label(self) -> str:
        """Title and unit, as a row of a table is called."""
        return f"{self.title} {self.unit}".rstrip()

    @property
    def axis(self) -> str:
        """Title and unit, as an axis is labelled."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    def show(self, value: float) -> str:
        """A value of a record in the shown unit, in plain text; one that is not zero is not shown as zero.

        >>> describe("eer_kaldi").show(0.07142), describe("linkability").show(1 / 5000)
        ('7.14', '0.02')
        """
        if not math.isfinite(value):
            return str(value)
        shown = self.scale * value
        is_small = _NOISE <= abs(shown) < 0.5 * 10**-self.digits
        return f"{shown:.{-math.floor(math.log10(abs(shown))) if is_small else self.digits}f}"

    def typeset(self, value: float) -> str:
        """The same with a minus sign and an infinity sign."""
        return self.show(value).replace("-", "−").replace("inf", "∞")


PERCENT: Mapping[str, Any] = {"unit": "%", "scale": 100.0}
SHARE: Mapping[str, Any] = {**PERCENT, "digits": 1, "better": -1}
BITS: Mapping[str, Any] = {"unit": "bit", "digits": 2, "better": -1, "chance": 0.0}
"""How percentages, shares and disclosures are shown."""
EER = "EER"
_NOISE = 1e-6
"""What is less, in the shown unit, may be a rounding error, and is shown as zero."""
_DIFFERENCE = "_difference"


@cache
def known_metrics() -> Mapping[str, Metric]:
    """All metrics of all measures by name, in the order of tables."""
    found = [metric for module in modules_of("vpeval.measures") for metric in getattr(module, "METRICS", ())]
    ordered = sorted(found, key=lambda metric: (GROUPS.index(metric.group), metric.place))
    return {metric.name: metric for metric in ordered}


@cache
def _ranks() -> Mapping[str, int]:
    return {name: place for place, name in enumerate(known_metrics())}


def __getattr__(name: str) -> Mapping[str, Metric]:
    if name == "METRICS":  # found when it is first asked for
        return known_metrics()
    raise AttributeError(name)


def shown_in(where: str) -> list[Metric]:
    """The metrics that are shown somewhere (`KEY`, `OVERVIEW`, `SUMMARY`), in the order of tables."""
    return [metric for metric in known_metrics().values() if where in metric.shown]


def estimators_of(what: str) -> tuple[str, ...]:
    """The names of the metrics that estimate one thing, such as `EER`."""
    return tuple(metric.name for metric in known_metrics().values() if metric.estimator_of == what)


@cache
def describe(name: str) -> Metric:
    """How a metric is shown; ``<metric>_difference`` as the metric, an unknown one by its own name and value.

    >>> describe("wer_difference").label, describe("new_thing").title
    ('WER, difference %', 'new thing')
    """
    metrics = known_metrics()
    if name in metrics:
        return metrics[name]
    base = metrics.get(name.removesuffix(_DIFFERENCE))
    if base:
        words = f"Of two systems on the same data. {base.explanation}"
        title, latex = f"{base.title}, difference", rf"$\Delta$ {base.latex}"
        whole = (-math.inf, math.inf)
        return replace(
            base,
            name=name,
            title=title,
            explanation=words,
            latex=latex,
            chance=None,
            range=whole,
            requires=(),
            shown=(SUMMARY,),
            estimator_of="",
            replaces="",
        )
    return Metric(name, name.replace("_", " "), "", escape(name))


def rank(name: str) -> tuple[int, str]:
    """The place of a metric in tables: known ones in their order, then others by name."""
    return _ranks().get(name, len(_ranks())), name
