import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.data import cut
from vpeval.data.directory import DataDir
from vpeval.data.fix import fix


def corpus(durations: dict[str, list[int]], path: str = "data/x") -> DataDir:
    """Speaker → durations of the utterances."""
    utt2dur = {f"{spk}-{i:03d}": str(seconds) for spk, all_ in durations.items() for i, seconds in enumerate(all_)}
    return DataDir(
        Path(path), {utt: utt.split("-")[0] for utt in sorted(utt2dur)}, {"utt2dur": dict(sorted(utt2dur.items()))}
    )


@settings(max_examples=60)
@given(
    durations=st.dictionaries(
        st.text("abc", min_size=1, max_size=3), st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1
    ),
    per_utt=st.booleans(),
    data=st.data(),
)
def test_a_split_is_a_balanced_partition(durations: dict[str, list[int]], per_utt: bool, data: st.DataObject) -> None:
    whole = corpus(durations)
    n = data.draw(st.integers(1, len(whole.utts if per_utt else whole.speakers)))
    parts = cut.split(whole, n, per_utt)
    assert [str(part.path) for part in parts] == [f"data/x/split{n}{'utt' * per_utt}/{i + 1}" for i in range(n)]
    assert sorted(utt for part in parts for utt in part.utts) == whole.utts
    assert all(part.utts for part in parts)
    if not per_utt:
        assert sorted(spk for part in parts for spk in part.speakers) == whole.speakers
    loads = [sum(part.utt2dur.values()) for part in parts]
    units = [[d] for all_ in durations.values() for d in all_] if per_utt else list(durations.values())
    # The last unit of the longest part went to what was then the shortest part.
    assert max(loads) - min(loads) <= max(sum(unit) for unit in units)


def test_the_split_balances_durations_by_hand() -> None:
    parts = cut.split(corpus({"a": [5], "b": [4], "c": [3, 3], "d": [1]}), 2)
    assert [part.speakers for part in parts] == [["c", "d"], ["a", "b"]]


def test_without_durations_the_split_balances_counts(toy: DataDir) -> None:
    whole = DataDir(toy.path, toy.utt2spk)
    assert [part.utts for part in cut.split(whole, 3)] == [["a-1", "a-2"], ["b-1", "b-2"], ["c-1", "c-2"]]


@pytest.mark.parametrize(
    ("per_utt", "complaint"),
    [
        (False, "3 speakers, too few for 7 parts; choose at most 3"),
        (True, "6 utterances, too few for 7 parts; choose at most 6"),
    ],
)
def test_too_many_parts_are_refused_with_the_largest_number(toy: DataDir, per_utt: bool, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        cut.split(toy, 7, per_utt)


def test_a_split_is_written_whole_and_replaces_the_old_one(toy: DataDir) -> None:
    cut.write_split(cut.split(toy.subset(["a-1", "b-1"]), 2))
    parts = cut.split(toy, 2)
    cut.write_split(parts)
    assert sorted(path.name for path in (toy.path / "split2").glob("*")) == [".made", "1", "2"]
    assert [DataDir.load(part.path) for part in parts] == parts
    assert DataDir.load(toy.path) == toy


def test_a_seeded_choice_is_reproducible_and_depends_on_the_seed() -> None:
    data = corpus({f"s{i:02d}": [1] * 10 for i in range(20)})
    first, again, other = (cut.pick_speakers(data, 8, seed).speakers for seed in (1, 1, 2))
    assert len(first) == 8
    assert first == again != other


def test_the_choice_for_one_speaker_does_not_depend_on_the_others() -> None:
    chosen = cut.pick_per_speaker(corpus({spk: [1] * 9 for spk in "abcdef"}), 3).spk2utt
    assert chosen["b"] == cut.pick_per_speaker(corpus({"b": [1] * 9}), 3).utts
    assert [len(utts) for utts in chosen.values()] == [3] * 6
    assert len({tuple(utt[1:] for utt in utts) for utts in chosen.values()}) > 1


def test_choices_do_not_depend_on_locale_or_hash_seed() -> None:
    code = (
        "from pathlib import Path; from vpeval.data import cut; from vpeval.data.directory import DataDir; "
        "print(cut.pick_speakers(DataDir(Path('x'), {f'{s}-{u}': s for s in set('abcdefgh') for u in set('12')}), 3, 5).utts)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed, locale in (("1", "C"), ("2", "C.UTF-8"))
    }
    assert len(outputs) == 1


def test_first_and_named_choices(toy: DataDir) -> None:
    assert cut.pick_first(toy, 3).utts == ["a-1", "a-2", "b-1"]
    assert cut.keep_speakers(toy, ["c", "a"]).speakers == ["a", "c"]
    assert cut.pick_per_speaker(toy, 5).utts == toy.utts


@pytest.mark.parametrize(
    ("choose", "complaint"),
    [
        (lambda data: cut.pick_first(data, 7), "has 6 utterances, not 7"),
        (lambda data: cut.pick_speakers(data, 4), "has 3 speakers, not 4"),
        (lambda data: cut.keep_speakers(data, ["z"]), "has no speaker z"),
    ],
)
def test_choosing_what_is_not_there_is_refused(toy: DataDir, choose, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        choose(toy)


def test_the_parts_of_a_split_combine_to_the_whole(toy: DataDir) -> None:
    combined, dropped = cut.combine(cut.split(toy, 3), toy.path)
    assert combined == toy
    assert dropped == []


def test_combining_drops_tables_that_a_source_lacks(toy: DataDir) -> None:
    left = toy.subset(["a-1", "a-2"]).with_table("utt2emo", {"a-1": "sad", "a-2": "sad"})
    right = DataDir(toy.path, {"b-1": "b"}, {"text": {"b-1": "HI"}})
    combined, dropped = cut.combine([left, right], Path("new"))
    assert combined.utt_tables == {"text": {"a-1": "HELLO A", "a-2": "HELLO A", "b-1": "HI"}}
    assert combined.spk_tables == {}
    assert dropped == ["spk2gender", "utt2dur", "utt2emo", "wav.scp"]
    assert combined.enrolls == ("a-1",)
    assert combined.trials == left.trials


def test_sources_that_agree_may_overlap_and_those_that_do_not_are_named(toy: DataDir) -> None:
    combined, _ = cut.combine([toy, toy.subset(["a-1"])], toy.path)
    assert combined == toy
    other = DataDir(Path("data/other"), {"a-1": "z"})
    with pytest.raises(InputError) as caught:
        cut.combine([toy, other], Path("new"))
    assert str(caught.value).startswith(f"data/other/utt2spk: 'a-1' is 'z' here but 'a' in {toy.path}/utt2spk")


def test_contradicting_trials_cannot_be_combined(toy: DataDir) -> None:
    other = DataDir(Path("data/other"), {"a-2": "a"}, trials=(("a", "a-2", "nontarget"),))
    with pytest.raises(InputError, match="data/other/trials: 'a a-2' is 'nontarget' here but 'target'"):
        cut.combine([toy, other], Path("new"))


def test_renaming_lengthens_ids_everywhere_but_in_audio_paths(toy: DataDir) -> None:
    new = cut.rename(toy, utt_prefix="p-", spk_prefix="p-", utt_suffix="-x")
    assert new.utt2spk["p-a-1-x"] == "p-a"
    assert new.wav["p-a-1-x"] == toy.wav["a-1"]
    assert new.spk2gender == {"p-a": "f", "p-b": "m", "p-c": "f"}
    assert new.enrolls == ("p-a-1-x", "p-b-1-x")
    assert new.trials is not None
    assert new.trials[0] == ("p-a", "p-a-2-x", "target")
    with pytest.raises(InputError, match="holds a blank"):
        cut.rename(toy, utt_prefix="p ")


def test_attributes_of_speakers_go_wherever_their_speakers_go(tmp_path):
    utt2spk = {"a-1": "a", "b-1": "b", "c-1": "c"}
    ages = {"a": "23", "b": "unknown", "c": "70"}
    data = DataDir(
        tmp_path / "x", utt2spk, {}, {"spk2age": ages, "spk2accent": {"a": "Irish English", "b": "s", "c": "s"}}
    )
    data.write(tmp_path / "x")
    found = DataDir.load(tmp_path / "x")
    assert found.spk_tables["spk2accent"]["a"] == "Irish English"
    some = found.subset(["a-1", "c-1"])
    assert some.spk_tables["spk2age"] == {"a": "23", "c": "70"}
    joined, dropped = cut.combine([some, found.subset(["b-1"])], tmp_path / "y")
    assert (joined.spk_tables["spk2age"], dropped) == (ages, [])
    assert cut.rename(some, utt_prefix="z", spk_prefix="z").spk_tables["spk2age"] == {"za": "23", "zc": "70"}
    assert fix(tmp_path / "x", audio=False).data.spk_tables["spk2age"] == ages
