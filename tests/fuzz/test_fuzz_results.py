"""Whatever tables, side files and results files say: views of them, or one line that tells what is wrong."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "editions"))

from mutations import changed, changed_lines, fuzzed, written
from result_samples import RANK_2024, RESULTS_2022, SUMMARY_2022, TRACK2_2026, UNTIDY_2024
from test_vpc2020 import PUBLISHED_SHAPE

from vpeval.core.errors import InputError
from vpeval.editions.base import editions, render, shared_files
from vpeval.records.metrics import METRICS
from vpeval.records.record import Record
from vpeval.records.side_files import read_side_file
from vpeval.results import latex, latex_challenge, summary
from vpeval.results.latex_listening import significance_tables
from vpeval.results.load import Source, load
from vpeval.results.overview import overview, ranking, render_ranking
from vpeval.results.worst import key_numbers

FILES = (PUBLISHED_SHAPE, RESULTS_2022, SUMMARY_2022, RANK_2024, UNTIDY_2024, TRACK2_2026)


def records():
    """A record of every metric and system, with everything that its views need."""
    for system, side in (("original", "o"), ("mine", "a"), ("other", "a")):
        for name, metric in METRICS.items():
            spoken = metric.aspect == "utility" and name != "g_vd"
            params = {
                "N": 5,
                "L": 1,
                "across": "attackers",
                "emotion": "sad",
                "eer": "eer_kaldi",
                "estimator": "empirical",
                "group": "naturalness",
                "versus": "mine",
            }
            notes = {"chance": 0.5, "tag": "A", "sets": 1, "chosen": "ecapa", "chosen_condition": 2 * side, "std": 0.1}
            notes |= {
                "attack_model": "lazy-informed",
                "attackers": 1,
                "attacks": 2,
                "seed": 1,
                "p_value": 0.02,
                "p_holm": 0.04,
                "files": {"scores": "x/scores"},
            }
            counts = {"ins": 1, "del": 1, "sub": 1, "ref_words": 6, "targets": 5}
            tags = {"set": "toy_test_asr" if spoken else "toy_test_trials_f", "gender": "" if spoken else "f"}
            tags |= {"condition": side if spoken else 2 * side, "attacker": "whisper" if spoken else "ecapa"}
            value = 50.0 if name == "wer" else 0.5
            record = Record(name, value, 0.4, 0.6, params, counts, notes, recipe="toy", system=system, **tags)
            yield json.loads(record.to_json())


RECORDS = list(records())
SIDE_FILES = {
    "curves": {
        "det": {"p_fa": [1.0, 0.5, 0.0], "p_miss": [0.0, 0.5, 1.0]},
        "ece": {name: [0.0, 1.0] for name in ("prior_log_odds", "default", "actual", "minimum")},
    },
    "ranks": {"ranks": [3, 1, 0]},
    "matrices": {"speakers": ["a", "b"], **{condition: [[1.0, None], [0.5, 1.0]] for condition in ("oo", "oa", "aa")}},
    "listening": {
        "groups": {"naturalness": {"toy f": [0.1, 0.9]}, "similarity_same": {}},
        "simulated": False,
        "distances": {"same": [0.1], "different": [0.2]},
        "map": {"points": [[0.0, 1.0]], "speakers": [1], "listeners": 3},
    },
}


def complains(function):
    """Whether a function refuses its input, which it does in one line."""
    try:
        function()
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 20_000
        return True
    return False


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "results.jsonl"


def views(found):
    yield lambda: summary.render(found, "2020")
    yield lambda: overview(found, "2024")
    yield lambda: latex_challenge.tables(found)
    yield lambda: latex_challenge.tables(found, "vpc2020")
    yield lambda: latex.tables(found)
    yield lambda: significance_tables(found)
    yield lambda: key_numbers(found, ["mine", "other"], "2020")
    for edition in editions().values():
        for file in (*edition.files, *shared_files()):
            yield lambda edition=edition, file=file: render(found, edition.name, file.name)
    for rules in (edition.rules for edition in editions().values() if edition.rules):
        yield lambda rules=rules: render_ranking(ranking(found, rules), rules)


def test_what_is_changed_here_is_valid(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in RECORDS))
    found = load([path])
    assert len(found) == len(RECORDS)
    assert not complains(lambda: summary.render(found))
    for what, content in SIDE_FILES.items():
        path.write_text(json.dumps(content))
        assert read_side_file(path, what) == content


@fuzzed
@given(st.data())
def test_a_table_is_shown_by_every_view_or_refused_in_one_line(path, data):
    rows = data.draw(st.lists(st.sampled_from(RECORDS), min_size=1, max_size=12, unique_by=id))
    row = data.draw(st.integers(0, len(rows) - 1))
    rows = [*rows[:row], data.draw(changed(rows[row])), *rows[row + 1 :]]
    path.write_bytes(b"".join(written(json.dumps(row)) + b"\n" for row in rows))
    found = []
    if complains(lambda: found.extend(load([path]))):
        return
    for view in views(found):
        complains(view)
    for text in (
        (*latex_challenge.tables(found).values(), *latex.tables(found).values())
        if not complains(lambda: (latex_challenge.tables(found), latex.tables(found)))
        else ()
    ):
        assert r"\input" not in text


@fuzzed
@given(st.data())
def test_a_side_file_has_the_shape_of_its_kind_or_is_refused_in_one_line(path, data):
    what = data.draw(st.sampled_from(sorted(SIDE_FILES)))
    path.write_bytes(written(json.dumps(data.draw(changed(SIDE_FILES[what])))))
    found = {}
    if complains(lambda: found.update(read_side_file(path, what))):
        return
    if what == "curves":
        assert len({np.array(found["det"][name], float).shape for name in ("p_fa", "p_miss")}) == 1
        assert len({np.array(row, float).shape for row in map(found["ece"].get, ("default", "actual", "minimum"))}) == 1
    elif what == "ranks":
        assert np.array(found["ranks"], float).sum() > 0
    elif what == "matrices":
        assert {np.array(found[name], float).shape for name in ("oo", "oa", "aa")} == {(len(found["speakers"]),) * 2}
    else:
        assert all(np.array(cell, float).ndim == 1 for group in found["groups"].values() for cell in group.values())


@fuzzed
@given(st.data())
def test_a_results_file_is_read_or_refused_with_its_line(path, data):
    text = data.draw(st.sampled_from(FILES).flatmap(changed_lines))
    path.write_bytes(written(text))
    found = []
    try:
        found += load([Source(path, "mine")])
    except InputError as error:
        assert re.match(rf"{re.escape(str(path))}(:\d+)?: \S", str(error)) or "these numbers cannot be" in str(error)
        assert "\n" not in str(error)
        return
    for view in views(found):
        complains(view)
