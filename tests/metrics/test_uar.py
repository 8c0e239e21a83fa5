import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import recall_score

from vpeval.core.errors import InputError
from vpeval.metrics.intervals import share_intervals
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


FOLDS = {"a": "1", "b": "1", "c": "2", "d": "2"}
RIGHT, WRONG = [("sad", "sad"), ("ang", "ang")], [("sad", "ang"), ("ang", "sad")]


def spoken(**shown):
    """utt2emo, predictions and utt2spk of speakers, from pairs of the true and the predicted emotion."""
    rows = {f"{spk}-{n}": (spk, *pair) for spk, pairs in shown.items() for n, pair in enumerate(pairs)}
    return tuple({utt: row[column] for utt, row in rows.items()} for column in (1, 2, 0))


def test_with_folds_the_interval_is_that_of_the_mean_over_speakers():
    mixed = [("sad", "ang"), ("ang", "ang")]
    tables = spoken(a=[("sad", "sad")], b=mixed, c=[("sad", "sad"), ("ang", "sad")], d=WRONG)
    score = score_emotions(*tables, FOLDS)
    assert [fold.uar for fold in score.folds] == [100, 50, 50, 0]
    (expected,) = share_intervals([[1.0], [0.5], [0.5], [0.0]], trials=7)
    found = uar_interval(score, *tables)
    assert (found.lower, found.upper) == pytest.approx((100 * expected.lower, 100 * expected.upper))
    assert found.notes == expected.notes


def test_without_folds_speakers_who_show_the_same_have_the_interval_of_the_mean_over_speakers():
    tables = spoken(a=RIGHT, b=WRONG, c=[*RIGHT[:1], *WRONG[1:]], d=RIGHT)
    alone, together = score_emotions(*tables, FOLDS), score_emotions(*tables)
    one, other = uar_interval(alone, *tables), uar_interval(together, *tables)
    assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper))


def test_a_speaker_counts_for_an_emotion_by_the_share_of_its_utterances():
    # All anger is a's: the recall of sadness is 3/5, of anger 1. Alone, a would be at (1 + 1)/2, b at 0 of sadness.
    tables = spoken(a=[("sad", "sad"), ("ang", "ang")], b=[("sad", "ang")] * 2, c=[("sad", "sad")], d=[("sad", "sad")])
    score = score_emotions(*tables)
    # Each of the four moves the UAR by (hits - 3/5 · sad utterances)/5/2, times four speakers.
    moved = 4 * np.array([1 - 3 / 5, -6 / 5, 1 - 3 / 5, 1 - 3 / 5]) / 5 / 2
    (expected,) = share_intervals(0.8 + moved[:, None], trials=6)
    found = uar_interval(score, *tables)
    assert (found.lower, found.upper) == pytest.approx((100 * expected.lower, 100 * expected.upper))


def test_an_emotion_that_is_only_predicted_counts_as_not_recalled_in_the_interval():
    tables = spoken(**{spk: [("sad", "sad"), ("sad", "hap")] for spk in FOLDS})
    found = uar_interval(score_emotions(*tables), *tables)
    assert found.lower < 25 < found.upper < 60


@pytest.mark.parametrize("right", [RIGHT, WRONG])
def test_speakers_who_are_all_recognised_or_none_have_an_interval_with_a_width(right):
    tables = spoken(**dict.fromkeys(FOLDS, right))
    for spk2fold in (None, FOLDS):
        found = uar_interval(score_emotions(*tables, spk2fold), *tables)
        assert (found.lower, found.upper) == (
            (pytest.approx(50, abs=15), 100) if right is RIGHT else (0, pytest.approx(50, abs=15))
        )


@pytest.mark.parametrize("spk2fold", [None, {"a": "1", "b": "1", "c": "2"}])
def test_three_speakers_have_no_interval_and_the_reason(spk2fold):
    tables = spoken(a=RIGHT, b=WRONG, c=RIGHT)
    found = uar_interval(score_emotions(*tables, spk2fold), *tables)
    assert (found.lower, found.upper) == (None, None)
    assert "3 speakers" in found.notes["no_interval"]
    assert uar_interval(score_emotions(*tables, spk2fold), *tables, resamples=0).notes == {}


def test_a_prediction_that_is_missing_is_wrong_in_the_interval_as_well():
    utt2emo, predictions, utt2spk = spoken(a=RIGHT, b=RIGHT, c=RIGHT, d=RIGHT)
    wrong = {**predictions, "b-0": "ang"}
    del predictions["b-0"]
    found, expected = (
        uar_interval(score_emotions(utt2emo, made, utt2spk), utt2emo, made, utt2spk) for made in (predictions, wrong)
    )
    assert found == expected


@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.parametrize("speakers", [5, 12])
def test_intervals_of_recalls_hold_the_truth_and_are_not_much_wider_than_needed(speakers, folds):
    # Speakers are recognised with a chance that has the mean 0.7 and the standard deviation 0.14.
    rng = np.random.default_rng(speakers)
    names = [str(s) for s in range(speakers)]
    held, widths, values = [], [], []
    for _ in range(300):
        chance = np.repeat(rng.beta(7, 3, speakers), 16)
        right = iter(rng.random(16 * speakers) < chance)
        tables = spoken(**{name: [(e, e if next(right) else "") for e in EMOTIONS * 4] for name in names})
        score = score_emotions(*tables, dict.fromkeys(names, "1") if folds else None)
        found = uar_interval(score, *tables)
        held.append(found.lower <= 70 <= found.upper)
        widths.append(found.upper - found.lower)
        values.append(score.uar)
    assert np.mean(held) >= 0.92  # 0.93 less what 300 samples may be off by
    assert 0.95 < np.mean(widths) / np.ptp(np.quantile(values, [0.025, 0.975])) < 1.5
