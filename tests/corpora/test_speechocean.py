"""speechocean762 in its released layout: who is in which set, adults apart from children, faults that name the file."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import replicas

from vpeval.core.errors import InputError
from vpeval.corpora.prepare import lacking, prepare
from vpeval.corpora.speechocean import choose_parts, read_speechocean
from vpeval.corpora.utterances import MissingCorpus, Request, Utterance
from vpeval.data.directory import DataDir
from vpeval.data.validate import validate
from vpeval.plan.readiness import shared_utterances
from vpeval.plan.recipe import read_recipe

ROOT = Path(__file__).resolve().parents[2]
AT_HAND = ROOT.parent / "shared/data/speechocean40"


def readers(ages: list[int], first: int, utts: int = 7) -> list[replicas.Reader]:
    """Women and men in turn, who make noise."""
    noise = 0.1 * np.random.default_rng(first).standard_normal(8000 + utts)
    found = []
    for place, age in enumerate(ages):
        spk = f"{first + place:04d}"
        said = {f"{int(spk):05d}{n:04d}": (noise[: 8000 + n], f"it's number {n}") for n in range(utts)}
        found.append(replicas.Reader(spk, "fm"[place % 2], age, said))
    return found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 adults and 16 children; a quarter of both is in the half ``test``."""
    root = tmp_path_factory.mktemp("corpus")
    adults, children = readers([19, 20, 29, 30] * 5, 100), readers([6, 15] * 8, 1)
    replicas.speechocean(root, [*children[:12], *adults[:15]], [*adults[15:], *children[12:]])
    return root


def make(corpus: Path, out: Path, recipe: str) -> dict[str, DataDir]:
    conf = read_recipe(ROOT / f"egs/{recipe}/recipe.conf")
    prepare(recipe, conf.sets, (), Request(corpus, out))
    assert not shared_utterances(conf, out)
    return {name: DataDir.load(out / name) for name in conf.sets}


def test_adults_of_both_halves_are_divided_and_nobody_is_in_two_parts(corpus: Path, tmp_path: Path) -> None:
    sets = make(corpus, tmp_path, "speechocean")
    parts = {name: {name} for name in ("speechocean_train", "speechocean_pool")}
    parts |= {f"speechocean_{p}": {n for n in sets if n.startswith(f"speechocean_{p}")} for p in ("dev", "test")}
    speakers = {part: {spk for name in names for spk in sets[name].speakers} for part, names in parts.items()}
    assert {part: len(found) for part, found in speakers.items()} == {
        "speechocean_train": 6,
        "speechocean_pool": 4,
        "speechocean_dev": 4,
        "speechocean_test": 6,
    }
    assert len(set.union(*speakers.values())) == 20
    assert all(int(spk.removeprefix("so")) >= 100 for found in speakers.values() for spk in found)
    for data in sets.values():
        assert [str(problem) for problem in validate(data.path)] == []
        assert set(data.table("spk2age").values()) <= {"10-19", "20-29", "30-39"}
        assert all(text == f"IT'S NUMBER {int(utt[-4:])}" for utt, text in data.text.items())


def test_a_speaker_enrolls_with_five_utterances_and_the_others_are_tried_against_all_of_the_gender(
    corpus: Path, tmp_path: Path
) -> None:
    sets = make(corpus, tmp_path, "speechocean")
    enrolls = sets["speechocean_test_enrolls"]
    assert set(Counter(enrolls.utt2spk.values()).values()) == {5}
    for gender in "fm":
        trials = sets[f"speechocean_test_trials_{gender}"]
        assert set(trials.spk2gender.values()) == {gender} and not set(trials.utts) & set(enrolls.utts)
        assert set(Counter(trials.utt2spk.values()).values()) == {2}
        labels = Counter(label for _, _, label in trials.trials)
        assert labels == {"target": 3 * 2, "nontarget": 3 * 2 * 2}


def test_children_have_sets_of_their_own_and_no_adult_in_any(corpus: Path, tmp_path: Path) -> None:
    sets = make(corpus, tmp_path, "speechocean_children")
    speakers = {spk for data in sets.values() for spk in data.speakers}
    assert len(speakers) == 16 and max(int(spk.removeprefix("so")) for spk in speakers) == 16
    assert {age for data in sets.values() for age in data.table("spk2age").values()} == {"0-9", "10-19"}
    adults, children = (
        read_recipe(ROOT / f"egs/{name}/recipe.conf") for name in ("speechocean", "speechocean_children")
    )
    assert not set(adults.sets) & set(children.sets)


def test_the_division_takes_three_two_three_and_two_of_ten() -> None:
    utterances = [Utterance(f"s{n:02d}-1", Path("x"), f"s{n:02d}", gender) for gender in "fm" for n in range(10)]
    utterances += [Utterance(f"t{n:02d}-1", Path("x"), f"t{n:02d}", "f") for n in range(10)]
    women = [each for each in utterances if each.gender == "f"]
    counts = Counter(choose_parts(women).values())
    assert counts == {"test": 6, "dev": 4, "train": 6, "pool": 4}
    assert Counter(choose_parts(women[:8]).values()) == dict.fromkeys(("test", "dev", "train", "pool"), 2)


def test_what_is_missing_is_named(corpus: Path, tmp_path: Path) -> None:
    replicas.speechocean(tmp_path / "few", readers([20] * 16, 1))
    with pytest.raises(InputError, match="has 0 female children; 8 are needed"):
        make(tmp_path / "few", tmp_path / "out", "speechocean_children")
    replicas.speechocean(tmp_path, readers([20, 21], 1))
    folder = tmp_path / "speechocean762"
    (folder / "WAVE/SPEAKER0001/000010003.WAV").unlink()
    with pytest.raises(InputError, match=r"train/wav\.scp: there is no audio file 'WAVE/SPEAKER0001/000010003\.WAV'"):
        read_speechocean(tmp_path)
    (folder / "train/spk2age").write_text("0001\tgrown-up\n0002\t20\n")
    with pytest.raises(InputError, match="'grown-up' of speaker 0001 is not an age in years"):
        read_speechocean(folder)
    (folder / "train/spk2age").write_text("0002\t20\n")
    with pytest.raises(InputError, match=r"train/spk2age: has no line for '0001'"):
        read_speechocean(folder)
    for half in ("train", "test"):
        (folder / half).rename(tmp_path / half)
    with pytest.raises(InputError, match="has neither train nor test"):
        read_speechocean(folder)
    with pytest.raises(MissingCorpus, match="no speechocean762 here"):
        read_speechocean(tmp_path / "nowhere")
    assert set(lacking(["speechocean_train", "speechocean_children_dev_enrolls"], tmp_path / "nowhere")) == {
        "speechocean_train",
        "speechocean_children_dev_enrolls",
    }


@pytest.mark.skipif(not AT_HAND.is_dir(), reason="the 40 speakers of speechocean762 are not at hand")
def test_the_forty_adults_at_hand_make_all_sets(tmp_path: Path) -> None:
    replicas.speechocean_at_hand(tmp_path, AT_HAND)
    sets = make(tmp_path, tmp_path / "out", "speechocean")
    speakers = {part: len(sets[f"speechocean_{part}"].speakers) for part in ("train", "pool")}
    speakers |= {part: len(sets[f"speechocean_{part}_enrolls"].speakers) for part in ("dev", "test")}
    assert speakers == {"train": 12, "pool": 8, "dev": 8, "test": 12}
    assert sum(len(data.utts) for data in sets.values()) == 800
