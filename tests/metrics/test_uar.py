import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import recall_score

from vpeval.core.errors import InputError
from vpeval.metrics.intervals import bootstrap_mean
from vpeval.metrics.uar import score_emotions, uar_interval, unweighted_average_recall

EMOTIONS = ["sad", "neu", "ang", "hap"]
pairs = st.lists(st.tuples(st.sampled_from(EMOTIONS), st.sampled_from(EMOTIONS)), min_size=1, max_size=20)


@given(pairs)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_the_recall_is_the_macro_recall_of_scikit_learn(labels):
    refs, hyps = map(list, zip(*labels, strict=True))
    uar, _ = unweighted_average_recall(refs, hyps)
    assert uar == pytest.approx(100 * recall_score(refs, hyps, average="macro", zero_division=0))


def test_folds_are_rounded_before_they_are_averaged():
    # Speaker a: 1/3 of sad, all of ang → 66.667; speaker b: all right → 100.
    utt2emo = {"a-1": "sad", "a-2": "sad", "a-3": "sad", "a-4": "ang", "b-1": "sad", "b-2": "ang"}
    predictions = utt2emo | {"a-1": "ang", "a-2": "ang"}
    utt2spk = {utt: utt[0] for utt in utt2emo}
    score = score_emotions(utt2emo, predictions, utt2spk, {"a": "1", "b": "2"})
    assert [fold.uar for fold in score.folds] == [66.667, 100]
    assert score.uar == (66.667 + 100) / 2
    assert score.recalls == {"sad": pytest.approx((33.333 + 100) / 2), "ang": 100}
    assert [(fold.spk, fold.fold, fold.utts) for fold in score.folds] == [("a", "1", 4), ("b", "2", 2)]


def test_without_folds_all_utterances_are_scored_at_once():
    utt2emo = {"a-1": "sad", "b-1": "sad", "b-2": "ang"}
    score = score_emotions(utt2emo, {"a-1": "sad", "b-1": "ang", "b-2": "ang"}, {})
    assert (score.uar, score.recalls) == (75, {"sad": 50, "ang": 100})


def test_a_missing_prediction_is_wrong_and_named():
    score = score_emotions({"a-1": "sad", "a-2": "ang"}, {"a-1": "sad"}, {})
    assert (score.uar, score.missing) == (50, ("a-2",))


def test_chance_is_a_quarter_of_four_emotions():
    rng = np.random.default_rng(0)
    utts = [f"u{i}" for i in range(20000)]
    utt2emo = dict(zip(utts, rng.choice(EMOTIONS, len(utts)), strict=True))
    score = score_emotions(utt2emo, dict(zip(utts, rng.choice(EMOTIONS, len(utts)), strict=True)), {})
    assert score.uar == pytest.approx(25, abs=1)


@pytest.mark.parametrize(
    ("predictions", "spk2fold", "message"),
    [
        ({"x-1": "sad"}, None, "utterance 'x-1' has no emotion"),
        ({}, {"b": "1"}, "speaker 'a' of utterance 'a-1' has no fold"),
        ({}, {"a": "1", "c": "2"}, "speaker 'c' of spk2fold has no utterance"),
    ],
)
def test_tables_that_do_not_fit_are_refused(predictions, spk2fold, message):
    with pytest.raises(InputError, match=message):
        score_emotions({"a-1": "sad"}, predictions, {"a-1": "a"}, spk2fold)


FOLDS = {"a": "1", "b": "1", "c": "2"}


def spoken(**shown):
    """utt2emo, predictions and utt2spk of speakers, from pairs of the true and the predicted emotion."""
    rows = {f"{spk}-{n}": (spk, *pair) for spk, pairs in shown.items() for n, pair in enumerate(pairs)}
    return tuple({utt: row[column] for utt, row in rows.items()} for column in (1, 2, 0))


def test_with_folds_the_interval_is_that_of_the_mean_over_speakers():
    tables = spoken(a=[("sad", "sad")], b=[("sad", "ang"), ("ang", "ang")], c=[("sad", "sad"), ("ang", "sad")])
    score = score_emotions(*tables, FOLDS)
    assert [fold.uar for fold in score.folds] == [100, 50, 50]
    assert uar_interval(score, *tables, seed=3) == bootstrap_mean([100, 50, 50], seed=3, label="uar")


def test_without_folds_recalls_are_computed_anew_of_the_speakers_drawn():
    # Of two speakers, one is right and one wrong: alone they have 100 and 0, together 50.
    tables = spoken(a=[("sad", "sad"), ("ang", "ang")], b=[("sad", "ang"), ("ang", "sad")])
    found = uar_interval(score_emotions(*tables), *tables)
    assert (found.lower, found.upper) == (0, 100)
    # Speaker b shows no anger: without a, the UAR is the recall of sadness alone, 50; with both (2/3 + 1)/2.
    tables = spoken(a=[("sad", "sad"), ("ang", "ang")], b=[("sad", "sad"), ("sad", "")])
    found = uar_interval(score_emotions(*tables), *tables)
    assert (found.lower, found.upper) == (50, 100)


def test_an_emotion_that_is_only_predicted_counts_as_not_recalled_in_every_resample():
    tables = spoken(a=[("sad", "sad"), ("sad", "hap")], b=[("sad", "sad"), ("sad", "hap")])
    found = uar_interval(score_emotions(*tables), *tables)
    assert (found.lower, found.upper) == (25, 25)


@pytest.mark.parametrize("spk2fold", [None, {"a": "1"}])
def test_one_speaker_has_no_interval(spk2fold):
    tables = spoken(a=[("sad", "sad"), ("ang", "sad")])
    assert uar_interval(score_emotions(*tables, spk2fold), *tables) is None


def test_a_prediction_that_is_missing_is_wrong_in_the_interval_as_well():
    utt2emo, predictions, utt2spk = spoken(a=[("sad", "sad")], b=[("sad", "sad")])
    del predictions["b-0"]
    score = score_emotions(utt2emo, predictions, utt2spk)
    found = uar_interval(score, utt2emo, predictions, utt2spk)
    assert (found.lower, score.uar, found.upper) == (0, 50, 100)
