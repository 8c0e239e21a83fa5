"""The sets of every recipe from replicas of the corpora, with and without official lists."""

import os
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import replicas

from vpeval.core.errors import InputError
from vpeval.corpora import counts
from vpeval.corpora.counts import EXPECTED, Counts, Row, compare, render
from vpeval.corpora.lists import Lists
from vpeval.corpora.prepare import prepare
from vpeval.corpora.protocol import read_protocol
from vpeval.corpora.utterances import Request
from vpeval.data.directory import DataDir
from vpeval.data.validate import validate

ROOT = Path(__file__).resolve().parents[2]
READERS = {"84": "f", "174": "m", "251": "m", "652": "m", "777": "f", "1462": "f"}
LIBRI = [f"libri_dev_{name}" for name in ("enrolls", "trials_f", "trials_m", "trials_mixed")]
VCTK_PARTS = ("f", "m", "f_common", "m_common")
VCTK = ["vctk_dev_enrolls", *(f"vctk_dev_trials_{part}" for part in VCTK_PARTS)]
SPEAKERS = {f"p{225 + i}": "fm"[i % 2] for i in range(8)}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpora")
    speech = replicas.Speech()
    replicas.librispeech(root, "dev-clean", READERS, speech, chapters=3)
    replicas.vctk(root, SPEAKERS, speech)
    replicas.libritts(root, "train-other-500", {"100": "f", "1001": "m"}, speech)
    return root


def make(
    corpora: Path, out: Path, names: list[str], lists: Path | None = None, seed: int = 0, optional: tuple[str, ...] = ()
):
    request = Request(corpora, out, seed, Lists(lists) if lists else None)
    prepare("toy", names, optional, request)
    return {name: DataDir.load(out / name) for name in names if (out / name).is_dir()}


def as_lists(folder: Path, sets: dict[str, DataDir], pairs: bool = True) -> Path:
    """The lists of sets, as the challenges hand them out."""
    for name, data in sets.items():
        base, _, what = name.partition("_enrolls" if "_enrolls" in name else "_trials_")
        suffix = "_mic2" if base.startswith("vctk") else ""
        path = folder / base / (f"trials_{what}{suffix}" if what else f"enrolls{suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        if data.trials is not None and pairs:
            path.write_text("".join(" ".join(trial) + "\n" for trial in reversed(data.trials)))
        else:
            path.write_text("".join(f"data/x/wav/{utt}.wav\n" for utt in data.utts))
    return folder


def plan_numbers(monkeypatch: pytest.MonkeyPatch, sets: dict[str, DataDir]) -> None:
    """Let the evaluation plan have been written for the replica."""
    for (name, gender), _ in list(EXPECTED.items()):
        if name in sets:
            monkeypatch.setitem(EXPECTED, (name, gender), counts.count(sets[name], gender))


def test_libri_is_rebuilt_by_the_rule_of_the_challenge(corpora: Path, tmp_path: Path) -> None:
    sets = make(corpora, tmp_path, LIBRI)
    enrolls = sets["libri_dev_enrolls"]
    assert enrolls.enrolls == tuple(enrolls.utts) and enrolls.trials is None
    chapters = {spk: {utt.split("-")[1] for utt in utts} for spk, utts in enrolls.spk2utt.items()}
    assert set(chapters) == set(READERS) and all(len(found) == 1 for found in chapters.values())
    for gender in "fm":
        trials = sets[f"libri_dev_trials_{gender}"]
        enrolled = {spk for spk, g in READERS.items() if g == gender}
        assert len(trials.trials) == len(enrolled) * len(trials.utts)
        assert {spk for spk, _, _ in trials.trials} == enrolled == set(trials.speakers)
        assert all((label == "target") == (trials.utt2spk[utt] == spk) for spk, utt, label in trials.trials)
        assert not {tuple(utt.split("-")[:2]) for utt in trials.utts} & {
            tuple(utt.split("-")[:2]) for utt in enrolls.utts
        }
        assert sorted(trials.utt_tables) == ["text", "utt2dur", "utt2session", "wav.scp"]
    for data in sets.values():
        assert [str(issue) for issue in validate(data.path)] == []


def test_mixed_trials_hold_every_utterance_against_speakers_of_the_other_gender(corpora: Path, tmp_path: Path) -> None:
    sets = make(corpora, tmp_path / "a", LIBRI)
    mixed, genders = sets["libri_dev_trials_mixed"], sets["libri_dev_enrolls"].spk2gender
    same = {*sets["libri_dev_trials_f"].trials, *sets["libri_dev_trials_m"].trials}
    across = set(mixed.trials) - same
    assert same < set(mixed.trials)
    assert all(label == "nontarget" and genders[spk] != READERS[mixed.utt2spk[utt]] for spk, utt, label in across)
    # Three of each gender are enrolled, so that every utterance has two nontarget trials within its own gender.
    assert set(Counter(utt for _, utt, _ in across).values()) == {2}
    again = make(corpora, tmp_path / "b", ["libri_dev_enrolls", "libri_dev_trials_mixed"])
    assert again["libri_dev_trials_mixed"].trials == mixed.trials
    other = make(corpora, tmp_path / "c", ["libri_dev_trials_mixed"], seed=1)
    assert other["libri_dev_trials_mixed"].trials != mixed.trials


def test_vctk_has_common_and_different_parts_and_their_union(corpora: Path, tmp_path: Path) -> None:
    sets = make(corpora, tmp_path, VCTK)
    assert set(sets["vctk_dev_enrolls"].speakers) == {
        spk for part in VCTK_PARTS for spk in sets[f"vctk_dev_trials_{part}"].speakers
    }
    assert len(sets["vctk_dev_enrolls"].speakers) == 4
    for gender in "fm":
        different, common = sets[f"vctk_dev_trials_{gender}"], sets[f"vctk_dev_trials_{gender}_common"]
        assert {utt.split("_")[1] for utt in common.utts} == {"001", "002"}
        assert all(int(utt.split("_")[1]) >= 25 for utt in (*different.utts, *sets["vctk_dev_enrolls"].utts))
        every = DataDir.load(tmp_path / f"vctk_dev_trials_{gender}_all")
        assert set(every.trials) == {*different.trials, *common.trials}
    assert DataDir.load(tmp_path / "vctk_dev_trials_all").speakers == sets["vctk_dev_enrolls"].speakers
    path = (
        sets["vctk_dev_enrolls"].wav["p225_025_mic2"]
        if "p225_025_mic2" in sets["vctk_dev_enrolls"].wav
        else next(iter(sets["vctk_dev_enrolls"].wav.values()))
    )
    assert path.startswith(str(tmp_path / "local/vctk/p2"))
    # dev and test share no speaker.
    test = make(corpora, tmp_path / "test", [name.replace("dev", "test") for name in VCTK])
    assert not set(test["vctk_test_enrolls"].speakers) & set(sets["vctk_dev_enrolls"].speakers)


def test_with_official_lists_the_sets_are_those_of_the_lists_to_the_line(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = make(corpora, tmp_path / "a", [*LIBRI, *VCTK], seed=5)
    lists = as_lists(tmp_path / "lists", wanted)
    plan_numbers(monkeypatch, wanted)
    found = make(corpora, tmp_path / "b", [*LIBRI, *VCTK], lists)
    for name in wanted:
        for file in ("enrolls", "trials", "utt2spk"):
            ours, theirs = (tmp_path / root / name / file for root in "ba")
            assert ours.exists() == theirs.exists()
            assert not ours.exists() or ours.read_bytes() == theirs.read_bytes()
    assert {status.protocol for status in read_protocol(tmp_path / "b", "toy").values()} == {"official"}
    assert found["libri_dev_enrolls"].spk2gender == READERS


def test_lists_of_utterances_alone_leave_the_pairs_to_be_drawn_and_are_not_official(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = make(corpora, tmp_path / "a", VCTK, seed=5)
    whole = {"vctk_dev_enrolls": wanted["vctk_dev_enrolls"]}
    whole |= {f"vctk_dev_trials_{g}_all": DataDir.load(tmp_path / "a" / f"vctk_dev_trials_{g}_all") for g in "fm"}
    plan_numbers(monkeypatch, wanted)
    found = make(corpora, tmp_path / "b", VCTK, as_lists(tmp_path / "lists", whole, pairs=False))
    assert {name: data.utts for name, data in found.items()} == {name: data.utts for name, data in wanted.items()}
    protocol = {name: status.protocol for name, status in read_protocol(tmp_path / "b", "toy").items()}
    assert protocol["vctk_dev_enrolls"] == "official"
    assert protocol["vctk_dev_trials_f"] == protocol["vctk_dev_trials_m_common"] == "rebuilt"


def test_official_lists_with_other_numbers_than_the_plan_are_refused_and_nothing_is_written(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = make(corpora, tmp_path / "a", LIBRI)
    lists = as_lists(tmp_path / "lists", wanted)
    with pytest.raises(InputError) as caught:
        make(corpora, tmp_path / "b", LIBRI, lists)
    assert "do not give the numbers of the evaluation plan" in str(caught.value)
    assert "libri_dev_trials_f  f" in str(caught.value) and "14,566" in str(caught.value)
    assert not (tmp_path / "b/libri_dev_enrolls").exists()


def test_incomplete_or_contradictory_lists_are_refused(corpora: Path, tmp_path: Path) -> None:
    wanted = make(corpora, tmp_path / "a", LIBRI[:3])
    lists = as_lists(tmp_path / "lists", wanted)
    trials = lists / "libri_dev/trials_f"
    good = trials.read_text()
    trials.write_text(good.replace(" target", " nontarget", 1))
    with pytest.raises(InputError, match=r"is nontarget, but '.*' is spoken by"):
        make(corpora, tmp_path / "b", LIBRI[:3], lists)
    trials.write_text(good + "84 84-900-0000 nontarget\n")
    with pytest.raises(InputError, match=r"trials_f: 1 of .* utterances are not in the corpus \(84-900-0000\)"):
        make(corpora, tmp_path / "b", LIBRI[:3], lists)
    trials.unlink()
    with pytest.raises(InputError, match="has lists of libri_dev, but none of libri_dev_trials_f; complete them"):
        make(corpora, tmp_path / "b", LIBRI[:3], lists)


def test_lists_that_enrol_a_trial_utterance_are_refused_and_nothing_is_written(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = make(corpora, tmp_path / "a", LIBRI[:3])
    lists = as_lists(tmp_path / "lists", wanted)
    tried = wanted["libri_dev_trials_f"].utts[0]
    with (lists / "libri_dev/enrolls").open("a") as file:
        file.write(f"data/x/wav/{tried}.wav\n")
    monkeypatch.setattr(Row, "agrees", True)
    with pytest.raises(
        InputError, match=rf"libri_dev_enrolls: 1 of its utterances \({tried}\) are in libri_dev_trials"
    ):
        make(corpora, tmp_path / "b", LIBRI[:3], lists)
    assert not (tmp_path / "b/libri_dev_enrolls").exists()


def test_one_training_set_may_be_there_without_another(corpora: Path, tmp_path: Path) -> None:
    sets = ("dev-clean", "train-clean-100")
    found = make(corpora, tmp_path, ["libri_dev_enrolls", *sets], optional=sets)
    assert set(found) == {"libri_dev_enrolls", "dev-clean"}
    assert read_protocol(tmp_path, "toy")["train-clean-100"].protocol == "absent"


def test_a_missing_corpus_is_an_error_unless_what_needs_it_is_optional(corpora: Path, tmp_path: Path) -> None:
    names = ["libri_dev_enrolls", "libritts_train_other_500", "IEMOCAP_dev"]
    sets = make(corpora, tmp_path, names, optional=("IEMOCAP_dev",))
    assert set(sets) == set(names[:2])
    absent = read_protocol(tmp_path, "toy")["IEMOCAP_dev"]
    assert absent.protocol == "absent" and "no IEMOCAP here" in absent.why
    with pytest.raises(InputError, match="no IEMOCAP here: expected IEMOCAP_full_release"):
        make(corpora, tmp_path, names)


def test_the_plan_adds_up() -> None:
    """Totals of Tables 2, 3, 5 and 6."""

    def total(field: str, *names: str) -> int:
        return sum(
            getattr(EXPECTED[name, gender], field) for name in names for gender in "fm" if (name, gender) in EXPECTED
        )

    for partition, spk, enrol, trial, target, impostor in (
        ("dev", 29, 343, 1978, 1348, 27362),
        ("test", 29, 438, 1496, 997, 20653),
    ):
        sets = [f"libri_{partition}_trials_f", f"libri_{partition}_trials_m"]
        assert total("speakers", f"libri_{partition}_enrolls") == spk
        assert total("utts", f"libri_{partition}_enrolls") == enrol
        assert (total("utts", *sets), total("targets", *sets), total("nontargets", *sets)) == (trial, target, impostor)
    for partition, part, utts, target, impostor in (
        ("dev", "_common", 695, 695, 9721),
        ("dev", "", 10677, 3796, 26204),
        ("test", "_common", 700, 700, 9790),
        ("test", "", 10748, 3686, 26314),
    ):
        sets = [f"vctk_{partition}_trials_{gender}{part}" for gender in "fm"]
        assert (total("utts", *sets), total("targets", *sets), total("nontargets", *sets)) == (utts, target, impostor)
        assert total("utts", f"vctk_{partition}_enrolls") == 600


def test_the_table_shows_expected_and_found_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    data = DataDir(
        Path("libri_dev_enrolls"), {"84-1-0000": "84", "99-1-0000": "99"}, {}, {"spk2gender": {"84": "f", "99": "m"}}
    )
    monkeypatch.setitem(EXPECTED, ("libri_dev_enrolls", "f"), Counts(1, 1))
    rows = compare(data)
    assert [row.agrees for row in rows] == [True, False]
    lines = render(rows).splitlines()
    assert lines[0].split()[:4] == ["set", "gender", "speakers", "found"]
    assert lines[1].split() == ["libri_dev_enrolls", "f", "1", "1", "1", "1"]
    assert lines[2].split()[-1] == "differs"


def test_training_corpora_of_the_plan_and_sets_of_the_legal_paper_are_known_with_their_numbers() -> None:
    """Table 1 of both: women, men, all, utterances, hours."""
    tables = {
        "voxceleb": (2912, 4451, 7363, 1281762, 2794),
        "train-clean-100": (125, 126, 251, 28539, 100),
        "train-other-500": (564, 602, 1166, 148688, 497),
        "libritts_train_clean_100": (123, 124, 247, 33236, 54),
        "libritts_train_other_500": (560, 600, 1160, 205044, 310),
        "train-clean-360": (439, 482, 921, 104014, 363.6),
        "commonvoice_a": (5601, 16423, 22024, 234945, 323),
        "commonvoice_b": (1354, 3595, 4949, 996971, 1409),
    }
    for name, (women, men, everybody, utts, hours) in tables.items():
        of = {gender: EXPECTED[name, gender] for gender in ("f", "m", "")}
        assert (of["f"].speakers, of["m"].speakers, of[""].speakers) == (
            women,
            men,
            everybody,
        ) and women + men == everybody
        assert (of[""].utts, of[""].hours) == (utts, hours)


def test_hours_are_counted_and_compared_within_a_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    utts = {f"{spk}-{n}": spk for spk in "ab" for n in range(3)}
    seconds = {utt: "3600" if utt[0] == "a" else "1800.5" for utt in utts}
    data = DataDir(Path("commonvoice_a"), utts, {"utt2dur": seconds}, {"spk2gender": {"a": "f", "b": "m"}})
    found = counts.count(data)
    assert (found.speakers, found.utts) == (2, 6) and found.hours == pytest.approx((3 * 3600 + 3 * 1800.5) / 3600)
    assert counts.count(data, "m").hours == pytest.approx(3 * 1800.5 / 3600)
    for hours, agrees in ((3.6, True), (3.4, False)):
        monkeypatch.setitem(EXPECTED, ("commonvoice_a", ""), Counts(2, 6, hours=hours))
        assert compare(data)[0].agrees == agrees
    # Other versions of Common Voice have other numbers; the lists of a challenge must give its numbers.
    assert not compare(data)[0].is_binding
    assert Row("train-clean-360", "", Counts(1, 1), Counts(1, 1)).is_binding


def test_voxceleb_is_read_as_released_and_its_aac_is_refused(tmp_path: Path) -> None:
    speech = replicas.Speech()
    for number, files in (
        (1, ("wav/id10001/1zcIwhmdeo4/00001.wav", "wav/id10002/a-_b/00002.wav")),
        (2, ("dev/aac/id00012/xyz/00001.flac",)),
    ):
        home = tmp_path / f"VoxCeleb{number}"
        for file in files:
            replicas.write(home / file, speech.take("f", 1)[0][0])
        rows = {
            1: "VoxCeleb1 ID\tVGGFace1 ID\tGender\nid10001\tx\tm\nid10002\ty\tf\n",
            2: "Id ,Face ,Gender ,Set\nid00012 ,n ,f ,dev\n",
        }
        (home / f"vox{number}_meta.csv").write_text(rows[number])
    (sets,) = make(tmp_path, tmp_path / "data", ["voxceleb"]).values()
    assert sorted(sets.utts) == ["id00012-xyz-00001", "id10001-1zcIwhmdeo4-00001", "id10002-a-_b-00002"]
    assert sets.table("spk2gender") == {"id00012": "f", "id10001": "m", "id10002": "f"}
    assert not [problem for problem in validate(sets.path) if "text" not in str(problem)]
    aac = tmp_path / "VoxCeleb2/dev/aac/id00012/xyz/00002.m4a"
    aac.touch()
    with pytest.raises(InputError, match=r"00002.m4a: is AAC.*ffmpeg"):
        make(tmp_path, tmp_path / "again", ["voxceleb"])
    aac.unlink()
    (tmp_path / "VoxCeleb2/vox2_meta.csv").unlink()
    with pytest.raises(InputError, match="no VoxCeleb 1 and 2 here"):
        make(tmp_path, tmp_path / "again", ["voxceleb"])


def table(folder: Path, speakers: dict[str, str], columns: tuple[str, ...] = ("gender", "session", "text")) -> Path:
    rows = ["\t".join(("utt", "path", "spk", *columns))]
    for number, (spk, gender) in enumerate(speakers.items()):
        for i in range(4):
            replicas.write(folder / f"{spk}-{i}.wav", 0.1 * np.random.default_rng((number, i)).normal(size=8000), 48000)
            cells = {"gender": gender, "session": str(i // 2), "text": "hello there"}
            rows.append("\t".join((f"{spk}-{i}", f"{spk}-{i}.wav", spk, *(cells[name] for name in columns))))
    (folder / "utterances.tsv").write_text("\n".join(rows) + "\n")
    return folder


def test_a_table_gives_the_sets_that_a_recipe_names(tmp_path: Path) -> None:
    corpus = table(
        tmp_path / "corpus",
        {"ann": "f", "bea": "f", "cat": "f", "dan": "m", "eve": "f", "fay": "f", "gus": "m", "hal": "m", "ian": "m"},
    )
    names = ["my_enrolls", "my_trials_f", "my_trials_m", "my_train"]
    sets = make(corpus, tmp_path / "data", names)
    assert set(sets) == set(names)
    assert not set(sets["my_train"].speakers) & set(sets["my_enrolls"].speakers)
    assert all("text" in data.utt_tables for data in sets.values())
    assert sets["my_enrolls"].wav[sets["my_enrolls"].utts[0]].endswith(".flac")


def test_a_table_without_genders_has_a_mixed_set_only(tmp_path: Path) -> None:
    corpus = table(tmp_path / "corpus", dict.fromkeys(("ann", "bob", "cat"), ""), ("session",))
    sets = make(corpus, tmp_path / "data", ["my_enrolls", "my_trials_mixed"])
    assert sorted(sets["my_trials_mixed"].utt_tables) == ["utt2dur", "utt2session", "wav.scp"]
    assert sets["my_trials_mixed"].spk_tables == {}
    with pytest.raises(
        InputError, match=r"has no genders, and my_trials_f need them; .*my_trials_mixed in recipe.conf"
    ):
        make(corpus, tmp_path / "data", ["my_enrolls", "my_trials_f"])


OFFICIAL = os.environ.get("VPEVAL_OFFICIAL_LISTS", "")


@pytest.mark.skipif(not OFFICIAL, reason="VPEVAL_OFFICIAL_LISTS is not set to a folder of official lists")
def test_the_official_development_lists_give_the_numbers_of_tables_2_and_5(tmp_path: Path) -> None:
    """All utterances of the lists as links to one file: audio that nobody hears."""
    found = Lists(Path(OFFICIAL))
    one = tmp_path / "one.flac"
    replicas.write(one, np.full(1600, 0.1))
    genders: dict[str, str] = {}
    for part in ("enrolls", "f", "m"):
        listed = found.enrolls("libri_dev") if part == "enrolls" else found.trials("libri_dev", part)
        assert listed is not None
        for utt in listed.utts:
            reader, chapter, _ = utt.split("-")
            if part != "enrolls":
                genders[reader] = part
            path = tmp_path / f"corpora/LibriSpeech/dev-clean/{reader}/{chapter}/{utt}.flac"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(one)
    lines = [f"{reader} | {gender.upper()} | dev-clean | 8 | x\n" for reader, gender in genders.items()]
    (tmp_path / "corpora/LibriSpeech/SPEAKERS.TXT").write_text("".join(lines))
    make(tmp_path / "corpora", tmp_path / "data", LIBRI[:3], Path(OFFICIAL))
    for name, file in zip(LIBRI, ("enrolls", "trials", "trials"), strict=False):
        official = next(path for path in Path(OFFICIAL).rglob(f"{name}/{file}"))
        assert (tmp_path / "data" / name / file).read_bytes() == official.read_bytes()


@pytest.mark.skipif(not OFFICIAL, reason="VPEVAL_OFFICIAL_LISTS is not set to a folder of official lists")
def test_the_official_vctk_utterances_give_the_numbers_of_tables_2_and_5(tmp_path: Path) -> None:
    found = Lists(Path(OFFICIAL))
    one, info = tmp_path / "one.flac", []
    replicas.write(one, np.full(1600, 0.1))
    corpus = tmp_path / "corpora/VCTK-Corpus-0.92"
    lists = {
        "": found.enrolls("vctk_dev"),
        "f": found.trials("vctk_dev", "f_all"),
        "m": found.trials("vctk_dev", "m_all"),
    }
    for gender, listed in lists.items():
        assert listed is not None
        for utt in listed.utts:
            spk = utt.partition("_")[0]
            path = corpus / f"wav48_silence_trimmed/{spk}/{utt}.flac"
            text = corpus / f"txt/{spk}/{utt.removesuffix('_mic2')}.txt"
            for file in (path, text):
                file.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(one)
            text.write_text("x")
        info += [f"{spk} 23 {gender} English\n" for spk in {utt.partition("_")[0] for utt in listed.utts} if gender]
    (corpus / "speaker-info.txt").write_text("".join(info))
    rows, statuses = prepare("toy", VCTK, (), Request(tmp_path / "corpora", tmp_path / "data", 0, found))
    assert all(row.agrees for row in rows) and len(rows) == 6
    assert statuses["vctk_dev_trials_f"].protocol == "rebuilt"


def test_the_script_of_a_recipe_prints_the_table_and_the_protocol(corpora: Path, tmp_path: Path) -> None:
    conf = tmp_path / "toy/recipe.conf"
    conf.parent.mkdir()
    conf.write_text(
        'recipe=toy\nattackers=ecapa\nser=models/ser\nasv_pairs="libri_dev_enrolls:libri_dev_trials_f\n  libri_dev_enrolls:libri_dev_trials_m"\n'
        'asr_sets="x:libri_dev_trials_f,libri_dev_trials_m"\nemotion_sets="IEMOCAP_dev:IEMOCAP_dev"\n'
        'pool_sets="libritts_train_other_500"\n'
    )
    line = [ROOT / "local/prepare_sets.sh", "--seed", "0", conf, corpora, tmp_path / "data"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "libri_dev_trials_m        m" in done.stdout and "differs" in done.stdout
    assert "protocol: rebuilt for libri_dev_enrolls" in done.stdout
    assert "IEMOCAP_dev is left out: " in done.stderr


@pytest.mark.parametrize(
    "line", ["$(touch x)", "train_sets=$(touch x)", "train_sets=a; touch x", "pool_sets=`touch x`"]
)
def test_a_recipe_with_commands_is_refused_and_nothing_runs(corpora: Path, tmp_path: Path, line: str) -> None:
    conf = tmp_path / "toy/recipe.conf"
    conf.parent.mkdir()
    sets = "libri_dev_enrolls:libri_dev_trials_f"
    conf.write_text(f"recipe=toy\nattackers=ecapa\nasv_pairs={sets}\nasr_sets=x:libri_dev_trials_f\n{line}\n")
    command = [ROOT / "local/prepare_sets.sh", conf, corpora, tmp_path / "data"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"{conf}:5: " in done.stderr
    assert not (tmp_path / "x").exists() and not (tmp_path / "data").exists()
