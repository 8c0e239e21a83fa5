import json
from dataclasses import replace

import numpy as np
import pytest
from layout import PAGE, faults
from toy_runs import TRIALS, copied, make_runs

from vpeval.figures import drawing, similarity_charts
from vpeval.figures.run_results import load_results
from vpeval.records.names import ORIGINAL, SEMI

ONE_SET = TRIALS["f"]
RANKS = {"cosine": [12, 6, 3, 2, 1, 0], "second": [6, 6, 6, 3, 2, 1], "f0": [5, 5, 4, 4, 3, 3], "units": [4] * 6}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One system; matrices of two encoders, ranks by embeddings, features and an encoder trained on anonymised speech."""
    root = tmp_path_factory.mktemp("toy")
    toy = load_results(make_runs(root), root / "data")
    more = []
    for entry in toy.entries:
        record = entry.record
        if record.metric in ("g_vd", "deid"):
            more.append(replace(entry, record=replace(record, attacker="a_trained").with_notes({"trained_on": "toy"})))
        if record.metric == "srd_max":
            more += [replace(entry, record=other) for other in other_ranks(record, entry.directory)]
            if record.condition == "aa":
                trained = replace(record, attacker="a_trained").with_notes({"attack_model": SEMI})
                more.append(replace(entry, record=trained, attack_model=SEMI))
    return replace(toy, entries=[*toy.entries, *more])


def other_ranks(record, directory):
    """The same for other representations, with ranks of their own."""
    for name in ("second", "f0", "units"):
        (directory / f"{name}.json").write_text(json.dumps({"ranks": RANKS[name]}))
        kind = {"similarity": "cosine" if name == "second" else "euclidean"}
        yield replace(record, attacker=name).with_params(kind).with_files({"ranks": f"{name}.json"})


def drawn(function, results):
    return drawing.draw("figure", lambda: function(results))


def panels(figure):
    return [axis for axis in figure.axes if axis.axison and axis.get_label() != "<colorbar>"]


def shares(axis):
    """The heights of the histograms of a panel."""
    return [patch.get_data().values.tolist() for patch in axis.patches if patch.get_fill()]


@pytest.mark.parametrize("systems", [1, 3, 19])
@pytest.mark.parametrize("name", ["similarity_matrices", "similarity_encoders"])
def test_matrices_of_many_systems_can_be_read(results, systems, name):
    many = copied(results, systems)
    figure = drawn(getattr(similarity_charts, name), many if systems == 1 else many.of_set(ONE_SET))
    assert faults(figure) == []
    assert figure.get_figwidth() <= PAGE
    encoders = 1 + (name == "similarity_encoders")
    assert len(panels(figure)) == encoders * (systems if systems > 1 else len(TRIALS))
    assert {axis.images[0].get_clim() for axis in panels(figure)} == {(0, 1)}


def test_a_global_matrix_has_original_voices_before_anonymised_ones(tmp_path, results):
    names = {"oo": 1, "oa": 2, "aa": 4}
    content = {name: (value + np.arange(4).reshape(2, 2) / 10).tolist() for name, value in names.items()}
    content["aa"][1][1] = None
    (tmp_path / "m.json").write_text(json.dumps({"speakers": ["a", "b"], **content}))
    entry = next(entry for entry in results.entries if entry.record.metric == "g_vd")
    entry = replace(entry, directory=tmp_path, record=entry.record.with_files({"matrices": "m.json"}))
    wanted = [[1, 1.1, 2, 2.1], [1.2, 1.3, 2.2, 2.3], [2, 2.2, 4, 4.1], [2.1, 2.3, 4.2, np.nan]]
    assert similarity_charts.global_matrix(entry) == pytest.approx(np.array(wanted), nan_ok=True)


def test_a_speaker_without_a_diagonal_cell_is_masked(results):
    cells = panels(drawn(similarity_charts.similarity_matrices, results))[0].images[0].get_array()
    assert np.argwhere(cells.mask).tolist() == [[8, 8]]


def test_encoders_trained_on_anonymised_speech_stand_below_the_others(results):
    figure = drawn(similarity_charts.similarity_encoders, copied(results, 7).of_set(ONE_SET))
    rows = [axis.get_ylabel() for axis in panels(figure) if axis.get_ylabel()]
    assert rows == ["cosine\ntrained on original", "a_trained\ntrained on\nanonymised"] * 2
    alone = [e for e in results.entries if "trained_on" not in e.record.notes]
    assert drawn(similarity_charts.similarity_encoders, replace(results, entries=alone)) is None


@pytest.mark.parametrize("systems", [1, 3, 19])
@pytest.mark.parametrize("name", ["rank_histograms", "feature_ranks", "trained_ranks"])
def test_ranks_of_many_systems_can_be_read(results, systems, name):
    figure = drawn(getattr(similarity_charts, name), copied(results, systems))
    assert faults(figure) == []
    assert figure.get_figwidth() <= PAGE
    assert len(panels(figure)) == systems + (name != "trained_ranks")


@pytest.mark.parametrize(
    ("name", "pair"), [("rank_histograms", ("cosine", "second")), ("feature_ranks", ("f0", "units"))]
)
def test_a_system_has_two_representations_on_top_of_each_other(results, name, pair):
    for axis in panels(drawn(getattr(similarity_charts, name), results)):
        assert shares(axis) == [pytest.approx(np.array(RANKS[one]) / 24) for one in pair]
        assert axis.get_yscale() == "linear"
        assert len(axis.texts) == 2


def test_more_than_two_representations_have_rows_of_their_own(results):
    third = [
        replace(e, record=replace(e.record, attacker="third"))
        for e in results.entries
        if (e.record.metric, e.record.attacker) == ("srd_max", "second")
    ]
    figure = drawn(similarity_charts.rank_histograms, replace(results, entries=[*results.entries, *third]))
    assert [len(shares(axis)) for axis in panels(figure)] == [2, 2, 1, 1]


def test_representations_that_are_compared_in_one_way_are_paired(results):
    def srd(attacker, similarity):
        record = next(e for e in results.entries if e.record.metric == "srd_max").record
        return replace(record, attacker=attacker).with_params({"similarity": similarity})

    def pairs(*attackers):
        entry = results.entries[0]
        return similarity_charts._pairs([replace(entry, record=srd(*one)) for one in attackers])

    plda = ("ecapa_plda", "llr")
    assert pairs(("ecapa", "cosine"), plda) == [["ecapa", "ecapa_plda"]]
    assert pairs(("ecapa", "cosine"), plda, ("nontimbral", "cosine")) == [["ecapa", "nontimbral"], ["ecapa_plda"]]


def test_systems_share_an_axis_and_original_speech_has_its_own(results):
    many = copied(results, 3)
    peaked = next(e for e in many.entries if e.record.metric == "srd_max" and e.record.system == "toy1")
    (peaked.directory / "peaked.json").write_text(json.dumps({"ranks": [24, 0, 0, 0, 0, 0]}))
    entries = [
        replace(e, record=e.record.with_files({"ranks": "peaked.json"})) if e is peaked else e for e in many.entries
    ]
    original, *systems = panels(drawn(similarity_charts.rank_histograms, replace(many, entries=entries)))
    assert original.get_title(loc="left") == ORIGINAL
    assert original.get_ylim()[1] == pytest.approx(1.05 * 0.5)
    assert [axis.get_ylim()[1] for axis in systems] == pytest.approx([1.05] * 3)
    assert [axis.yaxis.get_tick_params()["labelleft"] for axis in systems] == [True, False, False]


def test_a_histogram_has_a_band_that_uniform_ranks_fill(results):
    axis = panels(drawn(similarity_charts.rank_histograms, results))[0]
    edges = axis.collections[0].get_paths()[0].vertices[:, 1]
    # 24 inputs, uniform over 6 ranks: a rank has from 1 to 8 of them with 95 %.
    assert (24 * edges.min(), 24 * edges.max()) == pytest.approx((1, 8))


def test_a_rank_histogram_needs_the_file_with_the_ranks(results):
    bare = [replace(e, record=replace(e.record, notes={})) for e in results.entries]
    assert drawn(similarity_charts.rank_histograms, replace(results, entries=bare)) is None
