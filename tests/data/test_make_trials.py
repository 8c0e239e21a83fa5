from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.data import make_trials as module
from vpeval.data.directory import DataDir
from vpeval.data.make_trials import TrialOptions, make_trials

GENDERS = {"a": "f", "b": "f", "c": "m", "d": "m", "e": "f"}
OPTIONS = TrialOptions(Path("out"), "toy")


def corpus(sessions: int = 3, utts: int = 2, genders: dict[str, str] = GENDERS, known: bool = True) -> DataDir:
    utt2spk = {f"{spk}-{s}-{u}": spk for spk in sorted(genders) for s in range(sessions) for u in range(utts)}
    tables = {"utt2dur": {utt: str(1 + int(utt[-3])) for utt in utt2spk}}
    if known:
        tables["utt2session"] = {utt: utt[-3] for utt in utt2spk}
    return DataDir(Path("data/toy"), utt2spk, tables, {"spk2gender": genders})


def session(utt: str) -> str:
    return utt[:3]


def test_a_fixed_session_is_enrolled_and_the_others_are_tried() -> None:
    sets = make_trials(corpus(), replace(OPTIONS, enroll_session="0"))
    assert sets.enrolls.path == Path("out/toy_enrolls")
    assert sets.enrolls.enrolls == tuple(f"{spk}-0-{u}" for spk in "abcde" for u in range(2))
    assert {name: str(data.path) for name, data in sets.trials.items()} == {
        "f": "out/toy_trials_f",
        "m": "out/toy_trials_m",
    }
    assert sets.trials["m"].utts == [f"{spk}-{s}-{u}" for spk in "cd" for s in (1, 2) for u in range(2)]
    assert sets.trials["m"].spk2gender == {"c": "m", "d": "m"}
    assert sets.trials["m"].trials == tuple(
        (spk, utt, "target" if utt[0] == spk else "nontarget") for spk in "cd" for utt in sets.trials["m"].utts
    )
    # 3 enrolled women x 12 utterances of women
    assert Counter(label for _, _, label in sets.trials["f"].trials or ()) == {"target": 12, "nontarget": 24}


@settings(max_examples=60)
@given(
    sessions=st.integers(2, 4),
    utts=st.integers(1, 4),
    known=st.booleans(),
    seed=st.integers(0, 99),
    per_session=st.integers(0, 2),
    speakers=st.sampled_from([None, 4, 5]),
    fixed=st.booleans(),
)
def test_the_rules_of_the_challenge_hold(
    sessions: int, utts: int, known: bool, seed: int, per_session: int, speakers: int | None, fixed: bool
) -> None:
    data = corpus(sessions, utts, known=known)
    sets = make_trials(
        data,
        replace(
            OPTIONS,
            seed=seed,
            mixed=True,
            enroll_session="0" if fixed and known else None,
            enroll_utts=1,
            enroll_speakers=speakers,
            trials_per_session=per_session,
        ),
    )
    enrolled = set(sets.enrolls.speakers)
    assert len(enrolled) == speakers or speakers is None
    assert set(sets.trials) == {"f", "m", "mixed"}
    if known:
        assert all(len({session(utt) for utt in own}) == 1 for own in sets.enrolls.spk2utt.values())
        assert not {session(utt) for utt in sets.enrolls.utts} & {session(utt) for utt in sets.trials["mixed"].utts}
    assert not set(sets.enrolls.utts) & set(sets.trials["mixed"].utts)
    for name, trial_set in sets.trials.items():
        genders = {"f", "m"} if name == "mixed" else {name}
        speakers_here = {spk for spk in enrolled if GENDERS[spk] in genders}
        trials = trial_set.trials or ()
        assert {(spk, utt) for spk, utt, _ in trials} == {(spk, utt) for spk in speakers_here for utt in trial_set.utts}
        assert len(trials) == len(speakers_here) * len(trial_set.utts)
        assert [" ".join(trial).encode() for trial in trials] == sorted(" ".join(trial).encode() for trial in trials)
        assert all((label == "target") == (data.utt2spk[utt] == spk) for spk, utt, label in trials)
    assert set(sets.trials["mixed"].utts) == set(sets.trials["f"].utts) | set(sets.trials["m"].utts)
    if per_session:
        kept = Counter((utt[0], session(utt) if known else "") for utt in sets.trials["mixed"].utts)
        assert max(kept.values()) <= per_session


def test_without_sessions_a_few_utterances_are_enrolled() -> None:
    sets = make_trials(corpus(known=False), replace(OPTIONS, enroll_utts=4))
    assert [len(utts) for utts in sets.enrolls.spk2utt.values()] == [4] * 5
    assert len(sets.trials["f"].utts) == 3 * 2


def test_only_sessions_that_are_long_enough_are_drawn() -> None:
    """Session s has two utterances of 1 + s seconds."""
    sets = make_trials(corpus(), replace(OPTIONS, min_enroll_dur=6))
    assert {session(utt)[-1] for utt in sets.enrolls.utts} == {"2"}
    with pytest.raises(InputError, match=r"no speaker has 6\.5 s of speech; choose"):
        make_trials(corpus(), replace(OPTIONS, min_enroll_dur=6.5))


def test_speakers_who_are_not_enrolled_are_impostors() -> None:
    sets = make_trials(corpus(), replace(OPTIONS, enroll_speakers=3))
    assert Counter(GENDERS[spk] for spk in sets.enrolls.speakers) == {"f": 2, "m": 1}
    assert sets.trials["f"].speakers == ["a", "b", "e"]
    [bystander] = {"a", "b", "e"} - set(sets.enrolls.speakers)
    assert len(sets.trials["f"].spk2utt[bystander]) == 6
    assert {label for _, utt, label in sets.trials["f"].trials or () if utt[0] == bystander} == {"nontarget"}
    with pytest.raises(InputError, match="5 speakers can be enrolled, not 6"):
        make_trials(corpus(), replace(OPTIONS, enroll_speakers=6))


def test_a_speaker_with_one_session_is_enrolled_all_the_same() -> None:
    data = corpus()
    data = data.subset(utt for utt in data.utts if not utt.startswith(("a-1", "a-2")))
    sets = make_trials(data, OPTIONS)
    assert "a" in sets.enrolls.speakers
    assert "a" not in sets.trials["f"].speakers


def test_the_draw_depends_on_the_seed_and_nothing_else() -> None:
    data = corpus(sessions=9)
    assert make_trials(data, OPTIONS) == make_trials(data, OPTIONS)
    assert make_trials(data, OPTIONS).enrolls != make_trials(data, replace(OPTIONS, seed=1)).enrolls
    alone = make_trials(data.subset(utt for utt in data.utts if utt[0] in "ab"), OPTIONS)
    assert set(alone.enrolls.utts) <= set(make_trials(data, OPTIONS).enrolls.utts)


def test_a_corpus_of_one_gender_gives_one_trial_set() -> None:
    assert list(make_trials(corpus(genders={"a": "f", "b": "f"}), OPTIONS).trials) == ["f"]


def test_a_set_without_impostors_is_refused() -> None:
    with pytest.raises(InputError, match="the 'm' set has no nontarget trial"):
        make_trials(corpus(genders={"a": "f", "b": "f", "c": "m"}), OPTIONS)


def test_more_trials_than_can_be_listed_are_refused_before_any_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 10)
    with pytest.raises(InputError, match=r"'f' set would have \d+ trials, of which 10 at most.*--enroll-speakers"):
        make_trials(corpus(), OPTIONS)


def test_a_session_that_nobody_has_is_refused() -> None:
    with pytest.raises(InputError, match="in session '7'"):
        make_trials(corpus(), replace(OPTIONS, enroll_session="7"))
    with pytest.raises(InputError, match="utt2session: no such file"):
        make_trials(corpus(known=False), replace(OPTIONS, enroll_session="0"))
