"""The results of a run: where they are, what they depend on, what their records are about, and how to repeat them."""

import pytest

from tests.stages.toy_recipe import make_toy
from vpeval.core.errors import InputError
from vpeval.measures import (
    disclosure,
    emotion,
    inference,
    linkability,
    pitch,
    quality,
    recognition,
    similarity,
    singling_out,
    strongest,
    verification,
)
from vpeval.measures.base import Resampling
from vpeval.plan.plan import Settings, make_plan

DEV, TEST = ("toy_dev_trials_f", "toy_dev_trials_m"), ("toy_test_trials_f", "toy_test_trials_m")
ENROLLED = ("toy_dev_enrolls", "toy_test_enrolls")
RUN, ORIGINAL, ECAPA = "exp/toy/runs/mcadams", "exp/toy/runs/original", "exp/toy/embeddings/ecapa"
NAMES = {"attack_model": "lazy-informed", "attack_model_legal": "none"}
DRAWN = "--bootstrap 100"
ATTACK = {"system": "mcadams", "condition": "aa", "attacker": "ecapa"}
POPULATION = {"recipe": "toy", "set": "toy_all", **ATTACK}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("toy")
    make_toy(root)
    conf = root / "egs/toy/recipe.conf"
    joined = 'emotion_sets="toy_dev_emo:toy_dev_trials_f,toy_dev_trials_m"\nser="whisper_linear"\n'
    conf.write_text(conf.read_text() + joined)
    for name in DEV:
        (root / "data" / name / "utt2emo").write_text("x sad\n")
    return root


@pytest.fixture
def plan(root, monkeypatch):
    monkeypatch.chdir(root)
    return planned()


def planned(**more):
    chosen = {"attackers": "ecapa resnet fusion", "bootstrap": 100, "quality": True, "population": 7}
    return make_plan(Settings(recipe="toy", **chosen | more))


def anonymised(names):
    return [f"{name}_mcadams" for name in names]


def files(directory, names, *more):
    return [f"{directory}/{'/'.join((name, *more))}" for name in names]


def tables(sets, *names):
    return [f"data/{one}/{name}" for one in sets for name in names]


def find(found, place):
    (one,) = [result for result in found if str(result.out) == place]
    return one


def words(tags):
    return " ".join(f"--tag {name}={value}" for name, value in tags.items())


def params(notes):
    return " ".join(f"--param {name}={value}" for name, value in notes.items())


def check(result, *, stage, inputs, tags, commands, options=None, notes=None):
    assert result.stage == stage
    assert list(map(str, result.inputs)) == inputs
    assert (result.tags, result.options, result.notes) == (tags, options or {}, notes or {})
    assert result.resampling == Resampling(100, 0)
    assert [" ".join(command) for command in result.commands()] == commands


@pytest.mark.parametrize(
    ("module", "stage", "place", "count"),
    [
        (verification, 6, 0, 3 * 3 * 4 + 3),
        (strongest, 6, 1, 2),
        (similarity, 7, 0, 8),
        (linkability, 8, 0, 9),
        (singling_out, 8, 1, 9),
        (inference, 8, 2, 6),
        (disclosure, 9, 0, 4),
        (recognition, 10, 0, 4),
        (emotion, 10, 1, 2),
        (pitch, 10, 2, 4),
        (quality, 10, 3, 4),
    ],
)
def test_every_measure_has_its_stage_and_its_results(plan, module, stage, place, count):
    measure = module.MEASURE
    assert (measure.name, measure.stage, measure.place) == (module.__name__.rpartition(".")[2], stage, place)
    found = measure.results(plan)
    assert len(found) == len({result.out for result in found}) == count
    assert {result.stage for result in found} == {stage}


def test_verification_of_one_pair(plan):
    sets = ["toy_dev_enrolls_mcadams", "toy_dev_trials_f_mcadams"]
    out = f"{RUN}/ASV_ecapa-{'-'.join(sets)}"
    tags = {"recipe": "toy", "set": "toy_dev_trials_f", "gender": "f", **ATTACK}
    notes = {**NAMES, "scoring": "cosine", "calibration": "none"}
    data = "data/toy_dev_trials_f_mcadams"
    result = find(verification.MEASURE.results(plan), out)
    enroll, trial = files(ECAPA, sets)
    check(
        result,
        stage=6,
        inputs=[enroll, trial, f"{data}/trials", f"{data}/utt2spk"],
        tags=tags,
        notes=notes,
        commands=[
            f"steps/score_trials.py {enroll} {trial} {data}/trials {out}/scores",
            f"local/score_verification.py --utt2spk {data}/utt2spk {words(tags)} {DRAWN} {params(notes)} "
            f"{data}/trials {out}/scores {out}/records.jsonl",
        ],
    )
    assert result.files == ("records.jsonl", "scores")
    assert list(map(str, result.scored)) == [f"{out}/scores", f"{data}/trials", f"{data}/utt2spk"]


def test_calibrated_verification_depends_on_all_development_trials(root, monkeypatch):
    monkeypatch.chdir(root)
    out = f"{ORIGINAL}/ASV_ecapa-toy_test_enrolls-toy_test_trials_m"
    result = find(verification.MEASURE.results(planned(calibrate=True)), out)
    order = ["toy_test_enrolls", "toy_test_trials_m", "toy_dev_enrolls", *DEV]
    inputs = [*files(ECAPA, order), *tables(["toy_test_trials_m", *DEV], "trials", "utt2spk")]
    assert list(map(str, result.inputs)) == inputs
    assert result.notes["calibration"] == "dev"
    calls = [" ".join(command) for command in result.commands()]
    train = " ".join(f"--train data/{name}/trials {out}/scores.{name}" for name in DEV)
    assert [call.split()[-1] for call in calls[:3]] == [f"{out}/scores.{name}" for name in ("raw", *DEV)]
    assert calls[3] == f"local/calibrate_scores.py {train} {out}/scores.raw {out}/scores"
    assert len(calls) == 5


def test_scores_cannot_be_calibrated_without_development_sets(tmp_path, monkeypatch):
    make_toy(tmp_path, ("test",))
    monkeypatch.chdir(tmp_path)
    result = verification.MEASURE.results(planned(attackers="ecapa", calibrate=True))[0]
    with pytest.raises(InputError, match="no dev sets"):
        _ = result.inputs


def test_fusions_depend_on_the_scores_of_their_members(plan):
    def scores(attacker, pair):
        return f"{ORIGINAL}/ASV_{attacker}-{pair}/scores"

    def scored(names, part):
        found = []
        for name in names:
            pair = f"toy_{part}_enrolls-{name}"
            found += [scores("ecapa", pair), *tables([name], "trials", "utt2spk"), scores("resnet", pair)]
        return found

    results = verification.MEASURE.results(plan)
    weights = find(results, f"{RUN}/fusion-oo")
    tags = {"system": "original", "condition": "oo", "attacker": "fusion"}
    check(weights, stage=6, inputs=scored(DEV, "dev"), tags=tags, commands=[])
    assert weights.files == ("weights.json",)
    out = f"{RUN}/ASV_fusion-toy_dev_enrolls-toy_dev_trials_m"
    assert list(map(str, find(results, out).inputs)) == scored(DEV, "dev")
    out = f"{RUN}/ASV_fusion-toy_test_enrolls-toy_test_trials_m"
    fused = find(results, out)
    assert list(map(str, fused.inputs)) == [f"{RUN}/fusion-oo/weights.json", *scored(TEST[1:], "test")]
    assert fused.notes == {
        "attack_model": "unprotected",
        "attack_model_legal": "Original",
        "scoring": "fusion",
        "calibration": "dev",
        "members": "ecapa resnet",
    }
    both = [
        f"data/{name} {scores('ecapa', f'toy_{part}_enrolls-{name}')},{scores('resnet', f'toy_{part}_enrolls-{name}')}"
        for name, part in ((DEV[0], "dev"), (DEV[1], "dev"), (TEST[1], "test"))
    ]
    first, last = (" ".join(command) for command in fused.commands())
    trained = f"--train {both[0]} --train {both[1]}"
    assert first == f"local/fuse_scores.py --attackers ecapa resnet --seed 0 {trained} {both[2]} {out}/scores"
    assert last.startswith("local/score_verification.py --utt2spk data/toy_test_trials_m/utt2spk ")


def test_members_come_before_weights_and_weights_before_fusions(plan):
    kinds = [type(result).__name__ for result in verification.MEASURE.results(plan)]
    assert kinds == ["Verification"] * 24 + ["FusionWeights"] * 3 + ["Fused"] * 12


def test_the_strongest_attack_is_chosen_among_those_on_the_system(plan):
    dev, test = strongest.MEASURE.results(plan)
    assert (str(dev.out), str(test.out)) == (f"{RUN}/strongest-dev", f"{RUN}/strongest-test")
    assert test.tags == {"recipe": "toy", "system": "mcadams", "set": "toy_test"}
    assert test.commands() == []
    places = [
        f"{RUN}/ASV_{attacker}-toy_test_enrolls{suffix}-{name}/scores"
        for attacker in ("ecapa", "resnet", "fusion")
        for suffix in ("", "_mcadams")
        for name in anonymised(TEST)
    ]
    assert [str(path) for path in test.inputs if path.name == "scores"] == places
    assert {str(path) for path in test.inputs if path.name != "scores"} == set(
        tables(anonymised(TEST), "trials", "utt2spk")
    )
    attacks = test.options["attacks"]
    assert len(attacks) == 6
    assert attacks[0] == "{'system': 'mcadams', 'condition': 'aa', 'attacker': 'ecapa'} ('lazy-informed', 'none')"


def test_similarity_of_one_set(plan):
    out = f"{RUN}/VSM_ecapa-toy_dev_trials_m"
    o, a = files(ECAPA, ["toy_dev_trials_m", "toy_dev_trials_m_mcadams"])
    tags = {"recipe": "toy", "system": "mcadams", "set": "toy_dev_trials_m", "gender": "m", "attacker": "ecapa"}
    scores = " ".join(f"{out}/scores_{name}" for name in ("oo", "oa", "aa"))
    check(
        find(similarity.MEASURE.results(plan), out),
        stage=7,
        inputs=[o, a],
        tags=tags,
        commands=[
            *(
                f"steps/score_pairs.py {x} {y} {out}/scores_{n}"
                for x, y, n in ((o, o, "oo"), (o, a, "oa"), (a, a, "aa"))
            ),
            *(
                f"local/score_similarity.py --mode {mode} {words(tags)} {DRAWN} {scores} "
                f"data/toy_dev_trials_m_mcadams/utt2spk {out}/{mode}.jsonl"
                for mode in ("full", "vpc")
            ),
        ],
    )


def test_every_encoder_compares_voices_and_embeds_what_it_compares(root, monkeypatch):
    monkeypatch.chdir(root)
    plan = planned(attackers="ecapa_plda_original ecapa_plda ecapa_finetune f0 resnet")
    found = similarity.MEASURE.results(plan)
    assert [result.out.name for result in found] == [
        f"VSM_{encoder}-{name}" for encoder in ("ecapa", "ecapa_finetune", "resnet") for name in DEV + TEST
    ]
    assert all(path.name in plan.versions(path.parent.name) for result in found for path in result.inputs)
    # An attacker on anonymised speech compares no original enrolment.
    assert "toy_dev_enrolls" not in plan.versions("ecapa_finetune-mcadams")
    trained = find(found, f"{RUN}/VSM_ecapa_finetune-{DEV[0]}")
    assert (trained.tags["attacker"], trained.notes) == ("ecapa_finetune", {"trained_on": "mcadams"})
    assert all("--param trained_on=mcadams" in " ".join(line) for line in trained.commands()[3:])
    assert find(found, f"{RUN}/VSM_ecapa-{DEV[0]}").notes == {}


def test_without_vectors_that_cosines_compare_there_is_no_similarity(root, monkeypatch, caplog):
    monkeypatch.chdir(root)
    assert similarity.MEASURE.results(planned(attackers="f0")) == []
    assert "no voices to compare" in caplog.text


@pytest.mark.parametrize(
    ("module", "sizes"),
    [
        (linkability, "--n-enroll 3,all,7? --n-utts 1,all?"),
        (singling_out, "--n-speakers 3,all,7? --n-utts 1?"),
    ],
)
def test_legal_criteria_of_one_attack(plan, module, sizes):
    name = module.__name__.rpartition(".")[2]
    out = f"{RUN}/{name}_ecapa-aa"
    notes = {**NAMES, "scoring": "cosine"}
    enrolled, tested = (files(ECAPA, anonymised(names)) for names in (ENROLLED, DEV + TEST))
    known = tables(ENROLLED + DEV + TEST, "spk2gender")
    sides = " ".join(f"--side {table}" for table in known)
    found = module.MEASURE.results(plan)
    check(
        find(found, out),
        stage=8,
        inputs=enrolled + tested + known,
        tags=POPULATION,
        options={"sizes": "3,all,7", "utts": "1,all", "population": 7, **notes},
        notes=notes,
        commands=[
            f"local/score_{name}.py {sizes} {sides} --population 7 {words(POPULATION)} {DRAWN} {params(notes)} "
            f"{','.join(enrolled)} {','.join(tested)} {out}/records.jsonl"
        ],
    )
    fused = find(found, f"{RUN}/{name}_fusion-aa")
    assert f"{RUN}/fusion-aa/weights.json" in map(str, fused.inputs)
    assert {path.parent.name for path in fused.inputs if "embeddings" in path.parts} == {"ecapa", "resnet"}
    assert fused.commands() == []


def test_inference_of_one_encoder(plan):
    names = {"attack_model": "informed", "attack_model_legal": "Informed"}
    out = f"{RUN}/inference_ecapa-aa-evaluation"
    enrolled, tested = (files(ECAPA, anonymised(names)) for names in (ENROLLED, DEV + TEST))
    known = tables(ENROLLED + DEV + TEST, "spk2gender")
    check(
        find(inference.MEASURE.results(plan), out),
        stage=8,
        inputs=enrolled + tested + known,
        tags=POPULATION,
        options={"sizes": "3,all,7", "utts": "1,all", "population": 7, "similarity": "cosine", **names},
        notes=names,
        commands=[
            f"local/score_inference.py --n-utts 1,all? --n-speakers 3,all,7? --population 7 --similarity cosine --param learnt_from=evaluation "
            f"{words(POPULATION)} {DRAWN} {params(names)} {','.join(known)} {','.join(enrolled + tested)} "
            f"{','.join(tested)} {out}/records.jsonl"
        ],
    )


def test_disclosure_of_one_encoder(plan):
    out = f"{RUN}/srd_ecapa-aa"
    inputs = files(ECAPA, anonymised(ENROLLED + DEV + TEST))
    notes = {**NAMES, "representation": "ecapa"}
    parts = f"{out}/references {out}/inputs"
    found = disclosure.MEASURE.results(plan)
    check(
        find(found, out),
        stage=9,
        inputs=inputs,
        tags=POPULATION,
        options={"inputs": 2, "similarity": "cosine", **notes},
        notes=notes,
        commands=[
            f"local/split_embeddings.py --n-inputs 2 --seed 0 {' '.join(inputs)} {parts}",
            f"local/score_srd.py --similarity cosine {words(POPULATION)} {DRAWN} {params(notes)} {parts} "
            f"{out}/records.jsonl",
        ],
    )
    assert {result.attack.condition for result in found} == {"oo", "aa"}


def test_disclosure_on_one_partition_is_called_after_it_and_takes_as_many_inputs_as_asked(root, monkeypatch):
    monkeypatch.chdir(root)
    found = find(disclosure.MEASURE.results(planned(srd_sets="test", srd_inputs=3)), f"{RUN}/srd_ecapa-aa")
    sets = ["toy_test_enrolls_mcadams", "toy_test_trials_f_mcadams", "toy_test_trials_m_mcadams"]
    assert [path.name for path in found.sets] == sets
    assert (found.tags["set"], found.options["inputs"]) == ("toy_test", 3)
    assert found.commands()[0][:3] == ["local/split_embeddings.py", "--n-inputs", "3"]
    assert found.plan.sets_of("toy_test") == ("toy_test_enrolls", "toy_test_trials_f", "toy_test_trials_m")
    assert planned(srd_sets="all").srd_label == planned().srd_label == "toy_all"


def test_challenge_recipes_rank_twenty_inputs_of_each_of_the_forty_speakers_of_the_paper():
    for year in ("2020", "2022", "2024", "2026"):
        plan = make_plan(Settings(recipe=f"vpc{year}"))
        trials = ("mixed",) if year == "2026" else ("f", "m")
        assert plan.srd_sets == ("libri_test_enrolls", *(f"libri_test_trials_{part}" for part in trials))
        assert (plan.srd_label, plan.srd_inputs) == ("libri_test", 20)
    both = make_plan(Settings(recipe="vpc2020", srd_sets="test"))
    assert both.srd_label == "vpc2020_test" and "vctk_test_enrolls" in both.srd_sets


def test_recipes_give_the_conversations_of_the_paper():
    for name in ("vpc2020", "vpc2022", "vpc2024", "vpc2026", "commonvoice"):
        plan = make_plan(Settings(recipe=name))
        assert plan.legal_utts == "1,3,30"
        words = " ".join(linkability.MEASURE.results(plan)[0].sizes)
        assert words.endswith("--n-utts 1,3,30?")
    # Speakers of mini have fewer than 30 utterances: the most of them takes their place.
    assert make_plan(Settings()).legal_utts == "1,3,all"
    assert make_plan(Settings(utterances=5)).legal_utts == "1,3,all,5"


def test_disclosure_of_an_attacker_with_a_back_end_of_its_own(root, monkeypatch):
    monkeypatch.chdir(root)
    found = disclosure.MEASURE.results(planned(attackers="ecapa_plda_original ecapa_plda"))
    assert [(result.out.name, result.backend) for result in found[:2]] == [
        ("srd_ecapa-oo", None),
        ("srd_ecapa-aa", None),
    ]
    assert [result.out.name for result in found[2:]] == [
        "srd_ecapa_plda_original-oo",
        "srd_ecapa_plda_original-aa",
        "srd_ecapa_plda-aa",
    ]
    names = {"attack_model": "semi-informed", "attack_model_legal": "Informed", "scoring": "plda"}
    notes = {**names, "representation": "ecapa"}
    result = found[-1]
    sets, out = files(ECAPA, anonymised(ENROLLED + DEV + TEST)), f"{RUN}/srd_ecapa_plda-aa"
    tags = {**POPULATION, "attacker": "ecapa_plda"}
    parts, backend = f"{out}/references {out}/inputs", str(result.backend)
    assert backend.startswith("exp/toy/asv/ecapa_plda-mcadams") and backend.endswith("/backend.npz")
    check(
        result,
        stage=9,
        inputs=[*sets, backend],
        tags=tags,
        options={"inputs": 2, "similarity": "llr", **notes},
        notes=notes,
        commands=[
            f"local/split_embeddings.py --n-inputs 2 --seed 0 {' '.join(sets)} {parts}",
            f"local/score_srd.py --backend {backend} {words(tags)} {DRAWN} {params(notes)} {parts} {out}/records.jsonl",
        ],
    )


def wer_command(sets, decoded, tags, hyp, out, *more):
    def join(name):
        return ",".join(tables(sets, name))

    return " ".join(
        [
            "local/score_wer.py --normalizer vpc2020",
            f"--utt2spk {join('utt2spk')} --spk2gender {join('spk2gender')}",
            *more,
            f"{words(tags)} {DRAWN} {join('text')} {hyp or ','.join(f'{place}/text' for place in decoded)} {out}",
        ]
    )


@pytest.mark.parametrize("side", ["o", "a"])
def test_recognition_of_one_set(plan, side):
    run, system, suffix = (ORIGINAL, "original", "") if side == "o" else (RUN, "mcadams", "_mcadams")
    sets = [f"{name}{suffix}" for name in DEV]
    out = f"{run}/ASR_whisper_base-toy_dev_asr{suffix}"
    tags = {"recipe": "toy", "system": system, "set": "toy_dev_asr", "condition": side, "recogniser": "whisper_base"}
    decoded = files("exp/toy/decode/whisper_base", sets)
    result = find(recognition.MEASURE.results(plan), out)
    check(
        result,
        stage=10,
        inputs=[*decoded, *tables(sets, "text", "utt2spk", "spk2gender")],
        tags=tags,
        options={"rules": "vpc2020", "lms": False},
        commands=[wer_command(sets, decoded, tags, "", f"{out}/records.jsonl")],
    )
    assert result.files == ("records.jsonl", "hyp", "ref")


def test_trained_recognisers_are_rescored_with_weights_of_the_development_set(root, monkeypatch):
    monkeypatch.chdir(root)
    plan = planned(train_asr=True)
    found = recognition.MEASURE.results(plan)
    titles = [(result.recogniser.title, result.side) for result in found[::2]]
    whisper, trained, retrained = dict.fromkeys(title for title, _ in titles)
    assert titles == [(whisper, "o"), (whisper, "a"), (trained, "o"), (trained, "a"), (retrained, "a")]
    assert [result.options["lms"] for result in found[::2]] == [False, False, True, True, True]
    result = found[5]
    name, tags, sets, other = result.recogniser.name, result.tags, list(TEST), list(DEV)
    place, out = f"exp/toy/decode/{name}", f"{ORIGINAL}/ASR_{name}-toy_test_asr"
    decoded, tuned = files(place, sets), files(place, other)
    lms = str(plan.lm_dir)
    assert str(result.out) == out
    read = [*decoded, *tuned, *tables(sets + other, "text", "utt2spk", "spk2gender"), lms]
    assert list(map(str, result.inputs)) == read
    assert result.options == {"rules": "vpc2020", "lms": True}
    expected = []
    for lm in ("small", "large"):
        hyp = f"{out}/decode_tg{lm}/text"
        nbests = " ".join(",".join(f"{one}/nbest" for one in places) for places in (tuned, decoded))
        texts = ",".join(tables(other, "text"))
        expected.append(f"local/tune_lm.py --normalizer vpc2020 {lms}/{lm}.arpa {texts} {nbests} {hyp}")
        expected.append(wer_command(sets, decoded, tags, hyp, f"{out}/{lm}.jsonl", f"--param lm={lm}"))
    assert [" ".join(command) for command in result.commands()] == expected


@pytest.mark.parametrize("side", ["o", "a"])
def test_emotions_of_one_set(plan, side):
    run, system, suffix = (ORIGINAL, "original", "") if side == "o" else (RUN, "mcadams", "_mcadams")
    sets = [f"{name}{suffix}" for name in DEV]
    out = f"{run}/UAR_whisper_linear-toy_dev_emo{suffix}"
    tags = {"recipe": "toy", "system": system, "set": "toy_dev_emo", "condition": side, "recogniser": "whisper_linear"}
    predictions = files("exp/toy/emotions/whisper_linear", sets, "predictions")
    result = find(emotion.MEASURE.results(plan), out)
    check(
        result,
        stage=10,
        inputs=[*predictions, *tables(sets, *(("utt2emo", "utt2spk") if side == "o" else ("utt2spk",)))],
        tags=tags,
        commands=[
            f"local/score_uar.py {words(tags)} {DRAWN} {','.join(f'data/{name}' for name in sets)} "
            f"{','.join(predictions)} {out}/records.jsonl"
        ],
    )
    assert result.files == ("records.jsonl", "predictions")


def test_pitch_and_quality_of_one_set(plan):
    data = ["data/toy_test_trials_f", "data/toy_test_trials_f_mcadams"]
    tags = {"recipe": "toy", "system": "mcadams", "set": "toy_test_trials_f", "gender": "f"}
    out = f"{RUN}/pitch-toy_test_trials_f"
    check(
        find(pitch.MEASURE.results(plan), out),
        stage=10,
        inputs=[*data, "exp/toy/f0/toy_test_trials_f/tracks.npz"],
        tags=tags,
        commands=[f"local/score_pitch.py --nj 1 {words(tags)} {DRAWN} {' '.join(data)} {out}/records.jsonl"],
    )
    out, tags = f"{RUN}/quality-toy_test_trials_f", {**tags, "condition": "a"}
    check(
        find(quality.MEASURE.results(plan), out),
        stage=10,
        inputs=data,
        tags=tags,
        commands=[
            f"local/score_quality.py --original {data[0]} {words(tags)} {DRAWN} {data[1]} {out}/records.jsonl",
        ],
    )


def test_quality_and_emotions_are_measured_on_request(tmp_path, monkeypatch):
    make_toy(tmp_path)
    monkeypatch.chdir(tmp_path)
    plan = planned(quality=False)
    assert quality.MEASURE.results(plan) == emotion.MEASURE.results(plan) == []


def test_defaults_are_not_repeated_in_commands(root, monkeypatch):
    monkeypatch.chdir(root)
    plan = make_plan(Settings(recipe="toy"))
    for module in (pitch, disclosure, recognition):
        command = module.MEASURE.results(plan)[0].commands()[-1]
        assert "--seed" not in command and "--bootstrap" not in command
