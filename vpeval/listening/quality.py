"""Were listeners listening? What tells, for each of them; and who is left out, with the reason.

- attention: half or more of the counting checks wrong;
- headphones: more than a third of the headphone checks wrong (chance is two thirds);
- constant: the same rating on all pages of a task;
- speed: the median time for a question below a second;
- agreement: rank correlation with the means of all others over systems and kinds of pairs below 0 (a listener who uses
  the scale the wrong way round, or rolls dice).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from vpeval.core.errors import InputError
from vpeval.listening.answers import TASKS
from vpeval.listening.responses import Ratings, Responses

RULES = ("attention", "headphones", "constant", "speed", "agreement")
_FAST = 1.0


@dataclass(frozen=True)
class Listener:
    """What is known about how a listener listened; `reasons` are the rules that are broken."""

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
        raise InputError(f"--exclude {unknown[0]}: there are {', '.join(RULES)} and none")
    return names


def judge_listeners(responses: Responses) -> list[Listener]:
    """Everybody who answered, judged by all rules."""
    ratings = {task: responses.ratings(task) for task in TASKS["rating"]}
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
    """Who breaks one of the rules that count."""
    return [listener for listener in listeners if set(listener.reasons) & set(rules)]


def render_listeners(listeners: Collection[Listener], rules: Collection[str], simulated: bool = False) -> str:
    """A tab-separated table, one line per listener."""
    heads = ("listener", "answers", "questions", "median_seconds", "attention", "headphones", "agreement")
    lines = ["\t".join((*heads, "excluded", "rules_broken"))]
    for each in listeners:
        gone = "yes" if set(each.reasons) & set(rules) else "no"
        agreement = "-" if each.agreement is None else f"{each.agreement:.3f}"
        checks = ("{}/{}".format(*each.attention), "{}/{}".format(*each.headphones))
        name = f"SIMULATED-{each.listener + 1}" if simulated else each.listener + 1
        words = (name, each.answers, each.questions, f"{each.seconds:.1f}", *checks, agreement, gone)
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
            # Within a task: whether all similarities are lower than all naturalnesses is nobody's agreement.
            mean = sums[group[known]] / counts[group[known]]
            ours.append(ratings.score[known] - ratings.score[known].mean())
            theirs.append(mean - mean.mean())
    if not ours:
        return None
    x, y = np.concatenate(ours), np.concatenate(theirs)
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread > 0 else None
