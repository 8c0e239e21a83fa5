"""Rules by which listeners are excluded.

- attention: half or more of the counting checks wrong;
- headphones: more than a third of the headphone checks wrong (chance is two thirds);
- constant: the same rating on all pages of a task;
- speed: the median time for a question below a second;
- agreement: negative correlation of normalised ranks with the means of all other listeners, over systems and kinds of
  pairs (a listener who uses the scale the wrong way round, or answers at random).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from vpeval.core.errors import InputError
from vpeval.listening.answers import TASKS, Ratings, Responses

RULES = ("attention", "headphones", "constant", "speed", "agreement")
_FAST = 1.0


@dataclass(frozen=True)
class Listener:
    """How a listener did; `reasons` are the rules that are broken."""

    listener: int
    answers: int
    questions: int
    seconds: float
    attention: tuple[int, int]
    headphones: tuple[int, int]
    agreement: float | None
    reasons: tuple[str, ...]


def parse_rules(text: str) -> tuple[str, ...]:
    """``attention,constant`` → names of rules; ``none`` → no rule."""
    names = tuple(name for name in text.split(",") if name and name != "none")
    if unknown := [name for name in names if name not in RULES]:
        raise InputError(f"--exclude {unknown[0]}: choose from {', '.join(RULES)} or none")
    return names


def check_listeners(responses: Responses) -> list[Listener]:
    """Check every listener against all rules."""
    ratings = responses.rating_tables()
    found = []
    for listener in responses.listeners:
        own = [answer for answer in responses.answers if answer.listener == listener]
        right = {}
        for task in ("tones", "quietest"):
            checks = [a.value == responses.test.pages[a.page].truth for a in own if a.task == task]
            right[task] = (sum(checks), len(checks))
        times = [answer.seconds for answer in own if answer.task in ratings]
        seconds = float(np.median(times)) if times else 0.0
        constant = any(_is_constant(table, listener) for table in ratings.values())
        agreement = _agreement(ratings.values(), listener)
        broken = {
            "attention": right["tones"][1] > 0 and 2 * right["tones"][0] <= right["tones"][1],
            "headphones": right["quietest"][1] > 0 and 3 * right["quietest"][0] < 2 * right["quietest"][1],
            "constant": constant,
            "speed": bool(times) and seconds < _FAST,
            "agreement": agreement is not None and agreement < 0,
        }
        questions = sum(len(TASKS[page.kind]) for page in responses.test.sessions[listener].values())
        reasons = tuple(rule for rule in RULES if broken[rule])
        found.append(
            Listener(listener, len(own), questions, seconds, right["tones"], right["quietest"], agreement, reasons)
        )
    return found


def excluded(listeners: Collection[Listener], rules: Collection[str]) -> list[Listener]:
    """The listeners who break one of `rules`."""
    return [listener for listener in listeners if set(listener.reasons) & set(rules)]


def broken_rules(listeners: Collection[Listener]) -> str:
    """Which rules they break and how many of them break each: ``attention: 2, speed: 1``."""
    counts = {rule: sum(rule in listener.reasons for listener in listeners) for rule in RULES}
    return ", ".join(f"{rule}: {count}" for rule, count in counts.items() if count)


def render_listeners(listeners: Collection[Listener], rules: Collection[str], simulated: bool = False) -> str:
    """A tab-separated table, one line per listener."""
    heads = ("listener", "answers", "questions", "median_seconds", "attention", "headphones", "agreement")
    lines = ["\t".join((*heads, "excluded", "rules_broken"))]
    for each in listeners:
        is_excluded = "yes" if set(each.reasons) & set(rules) else "no"
        agreement = "-" if each.agreement is None else f"{each.agreement:.3f}"
        checks = ("{}/{}".format(*each.attention), "{}/{}".format(*each.headphones))
        name = f"SIMULATED-{each.listener + 1}" if simulated else each.listener + 1
        words = (name, each.answers, each.questions, f"{each.seconds:.1f}", *checks, agreement, is_excluded)
        lines.append("\t".join(map(str, (*words, ",".join(each.reasons) or "-"))))
    return "\n".join(lines) + "\n"


def _is_constant(ratings: Ratings, listener: int) -> bool:
    own = ratings.value[ratings.listener == listener]
    return len(own) > 3 and bool((own == own[0]).all())


def _agreement(tables: Collection[Ratings], listener: int) -> float | None:
    """Correlation of a listener's scores with the means of the others for the same system and kind of pair."""
    ours, theirs = [], []
    for ratings in tables:
        own = ratings.listener == listener
        group = ratings.system * 2 + ratings.is_target
        size = int(group.max()) + 1 if len(group) else 0
        counts = np.bincount(group[~own], minlength=size)
        sums = np.bincount(group[~own], ratings.score[~own], minlength=size)
        known = own & (counts[group] > 0)
        if known.any():
            # Centred within a task: differences between tasks say nothing about agreement.
            mean = sums[group[known]] / counts[group[known]]
            ours.append(ratings.score[known] - ratings.score[known].mean())
            theirs.append(mean - mean.mean())
    if not ours:
        return None
    x, y = np.concatenate(ours), np.concatenate(theirs)
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread > 0 else None
