"""What stands against a run is named before any work, on machines that lack this or that."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from vpeval.core.models import find_model, unreachable
from vpeval.core.processes import Machine, inspect_machine
from vpeval.plan import doctor
from vpeval.plan.doctor import COSTS, Check, estimate, examine
from vpeval.plan.plan import Plan, Settings, make_plan

ROOT = Path(__file__).resolve().parents[2]
GOOD = Machine("3.12.1", 2, 8 * 10**9, 50 * 10**9, 0)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Recipes and configurations, with a store of models that has all that it is asked for."""
    for folder in ("conf", "egs/mini", "egs/vpc2020", "egs/vpc2024", "local/anon/mcadams"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.opus"))
    (tmp_path / "egs/mini/corpus/audio").mkdir(exist_ok=True)
    for line in (tmp_path / "egs/mini/corpus/utterances.tsv").read_text().splitlines()[1:]:
        (tmp_path / f"egs/mini/corpus/audio/{line.split()[0]}.opus").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VPEVAL_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(doctor.models, "locate", lambda model: tmp_path / "models" / model.name)
    for name in ("ecapa_voxceleb", "whisper_base"):
        for file in find_model(name).files:
            (tmp_path / "models" / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / "models" / name / file).touch()
    return tmp_path


def check(machine: Machine = GOOD, **settings: object) -> dict[str, Check]:
    plan = make_plan(replace(Settings(nj=2), **settings))
    return {found.what: found for found in examine(plan, machine, lambda model: ["hub: no route to host"])}


def failing(found: dict[str, Check]) -> dict[str, str]:
    return {what: one.text for what, one in found.items() if one.state == "fail"}


def test_nothing_stands_against_the_embedded_corpus_on_a_good_machine(clone: Path) -> None:
    found = check()
    assert {one.state for one in found.values()} == {"ok"}
    assert set(found) == {"Python", "corpus", "models", "network", "disk", "memory", "cores", "GPU", "time"}
    assert "embeddings" in found["time"].text and "recognition" in found["time"].text


@pytest.mark.parametrize(
    ("lacks", "what", "words"),
    [
        ({"disk": 10**8}, "disk", "0.1 GB free, 0.6 GB needed; make room"),
        ({"memory": 10**8}, "memory", "0.1 GB free, 0.6 GB for each of 2 jobs: not one fits"),
        ({"python": "3.9.2"}, "Python", "3.9.2; 3.11 to 3.13 is needed"),
    ],
)
def test_a_machine_that_lacks_something_is_told_so(clone: Path, lacks: dict[str, int], what: str, words: str) -> None:
    failed = failing(check(replace(GOOD, **lacks)))
    assert list(failed) == [what] and words in failed[what]


def test_a_model_that_is_missing_and_cannot_be_fetched_is_named_with_its_place(clone: Path) -> None:
    shutil.rmtree(clone / "models/whisper_base")
    failed = failing(check())
    assert list(failed) == ["network"]
    assert "whisper_base is missing and cannot be fetched (hub: no route to host)" in failed["network"]
    assert str(clone / "models/whisper_base") in failed["network"]


def test_fewer_jobs_are_advised_where_memory_is_short(clone: Path) -> None:
    assert check(replace(GOOD, memory=10**9))["memory"] == Check(
        "memory", "warn", "1.0 GB free, 0.6 GB for each of 2 jobs: 1 fit; use --nj 1"
    )


def test_a_corpus_that_is_nowhere_empty_or_not_whole_is_told(clone: Path) -> None:
    assert "there is none in nowhere" in failing(check(corpus="nowhere"))["corpus"]
    (clone / "empty").mkdir()
    assert "is empty" in failing(check(corpus="empty"))["corpus"]
    (clone / "egs/mini/corpus/audio/f001-002.opus").unlink()
    assert "lacks 1 audio files (f001-002)" in failing(check())["corpus"]


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


LIBRI = [f"corpus/LibriSpeech/{part}-clean/84/1/84-1-0000.flac" for part in ("dev", "test")]
TRAINING = "corpus/LibriSpeech/train-clean-360/14/1/14-1-0000.flac"


def test_a_corpus_that_lacks_what_the_run_reads_is_told_with_what_to_do(clone: Path) -> None:
    touch(clone, LIBRI[0])
    settings = {"recipe": "vpc2024", "corpus": "corpus", "attackers": "ecapa"}
    text = failing(check(**settings))["corpus"]
    assert "no LibriSpeech test-clean here" in text and "libri_test_enrolls is made of it" in text
    assert "egs/vpc2024/download.sh says how to get it" in text
    touch(clone, LIBRI[1])
    # Nobody trains: neither LibriSpeech to train with nor IEMOCAP is needed.
    found = check(**settings)["corpus"]
    assert found.state == "warn"
    assert "has nothing for IEMOCAP_dev, IEMOCAP_test, train-clean-360, which are left out" in found.text
    text = failing(check(**{**settings, "attackers": "ecapa ecapa_plda_vpc"}))["corpus"]
    assert (
        "attacker ecapa_plda_vpc needs train-clean-360: put it there, or choose attackers that are pretrained" in text
    )
    touch(clone, TRAINING)
    assert "corpus" not in failing(check(**{**settings, "attackers": "ecapa ecapa_plda_vpc"}))


def test_an_anonymiser_without_its_pool_cannot_succeed(clone: Path) -> None:
    touch(clone, *LIBRI, TRAINING, "corpus/VCTK/wav48_silence_trimmed/p225/p225_001_mic2.flac")
    settings = {"recipe": "vpc2020", "corpus": "corpus", "attackers": "ecapa"}
    assert check(**settings)["corpus"].state == "warn"
    text = failing(check(**settings, anonymizer="xvector_pool"))["corpus"]
    assert "no LibriTTS train-other-500 here" in text
    assert (
        "anonymiser xvector_pool needs libritts_train_other_500: put it there, or choose another --anonymizer" in text
    )
    touch(clone, "corpus/LibriTTS/train-other-500/100/1/100_1_0_0.wav")
    assert check(**settings, anonymizer="xvector_pool")["corpus"].state == "ok"


def test_the_time_of_a_corpus_is_known_when_its_speech_is(clone: Path) -> None:
    (clone / "corpus").mkdir()
    (clone / "corpus/LibriSpeech").touch()
    settings = {"recipe": "vpc2024", "corpus": "corpus", "attackers": "ecapa"}
    assert check(**settings)["time"].state == "warn"
    recipe = make_plan(Settings(recipe="vpc2024")).recipe
    for name in (*recipe.eval_sets, *recipe.train_sets):
        (clone / "data" / name).mkdir(parents=True, exist_ok=True)
        (clone / "data" / name / "utt2dur").write_text("a 3600\n")
    assert "about" in check(**settings)["time"].text
    assert check(**{**settings, "attackers": "ecapa_scratch"})["GPU"].state == "warn"


def test_needs_grow_with_attackers_and_speech(clone: Path) -> None:
    costs = doctor.read_config(COSTS, **doctor._KEYS)

    def needs(plan: Plan) -> doctor.Needs:
        found = estimate(plan, costs)
        assert found
        return found

    few, many = (needs(make_plan(Settings(attackers=names))) for names in ("ecapa", "ecapa resnet ecapa_plda"))
    assert many.cpu["embeddings"] == pytest.approx(2 * few.cpu["embeddings"] + 754 * 0.085)
    assert few.cpu["embeddings"] == pytest.approx(2 * 1171 * 0.085)


def test_this_machine_is_known() -> None:
    machine = inspect_machine(ROOT)
    assert machine.cores >= 1 and machine.disk > 0


def test_sources_that_do_not_answer_are_told_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_MODELS", str(tmp_path))
    nowhere = {"url": "http://127.0.0.1:9/models"}
    model = replace(find_model("ecapa_voxceleb"), sources=(nowhere, {"url": f"file://{tmp_path}/mirror"}))
    assert [reason.split(": ")[0] for reason in unreachable(model)] == [
        f"url {nowhere['url']}",
        f"url file://{tmp_path}/mirror",
    ]
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/embedding_model.ckpt").touch()
    assert unreachable(model) == []
