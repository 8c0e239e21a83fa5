"""Valid input, changed at random: strategies for hypothesis."""

import os
from copy import deepcopy

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("VPEVAL_FUZZ", "200"))
"""How often every target is tried; tests/run.sh --nightly true asks for 10,000."""

fuzzed = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))

# Control characters, halves of characters, what LaTeX, HTML, regular expressions and paths find special. No '|', as a
# line of wav.scp that ends in one is a command.
_ODD = (
    *("", " ", "..", "../x", "/etc/passwd", "-", "-x", "a/b", "a b", "\0", "\x1b[2J", "\n", "\ud800", "é", "😀"),
    *(r"\input{x}", "$x_1^2$", r"$\frac$", "%", "&", "<script>", "{{ 1 }}", "{0}", "a" * 5000, "original", "all"),
    *("NaN", "inf", "-inf", "x_dev_trials_f", "dev", "oo", "aa", "\ufeff", "1_000", "１２", "1e999", "0x10"),
    # What resembles the headers of results files.
    *("x_dev_trialsnontarget_m", "x_trials", "_trials_f", "ASR-x_dev_asrx", "ASV-x_enrolls-x_trialsx_anon", "_asr_"),
    *("ASR-x_trials_asr_anon_anon", "x_dev_trials_f_common_all", "---- SER results ----", "x_trials  EER: 1%"),
)
ODD_TEXT = st.sampled_from(_ODD) | st.text(st.characters(exclude_characters="|"), max_size=8)
ODD_NUMBERS = (
    st.sampled_from(
        [0, -0.0, 1, -1, 1.5, 10**400, -(10**30), 1e308, 1e-320, float("inf"), float("-inf"), float("nan"), True]
    )
    | st.floats()
    | st.integers()
)
JSON = st.recursive(
    st.none() | st.booleans() | ODD_NUMBERS | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def changed(draw, value, odd=JSON):
    """`value`, made of lists and dictionaries, with one to three changes somewhere in it."""
    value = deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        value = _change(draw, value, odd)
    return value


def _change(draw, value, odd):
    children = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    if not children or draw(st.integers(0, 9)) == 0:
        return draw(odd)
    child = draw(st.sampled_from(sorted(children, key=str)))
    action = draw(st.integers(0, 9))
    if action == 0:
        del value[child]
    elif action == 1 and isinstance(value, dict):
        value[draw(ODD_TEXT)] = draw(odd)
    elif action == 1:
        value.insert(child, deepcopy(value[child]))
    else:
        value[child] = _change(draw, value[child], odd)
    return value


@st.composite
def changed_lines(draw, text):
    """Text in which lines, fields and characters were lost, doubled or replaced."""
    lines = [line.split(" ") for line in text.split("\n")]
    lines = draw(changed(lines, ODD_TEXT | ODD_NUMBERS.map(str)))
    rows = lines if isinstance(lines, list) else [[lines]]
    return "\n".join(" ".join(map(str, row)) if isinstance(row, list) else str(row) for row in rows)


def written(text):
    """Text as a file may hold it, halves of characters included."""
    return str(text).encode("utf-8", "surrogatepass")
