"""ASV_eval^anon is an attacker that was trained on speech of the system, or nobody."""

from dataclasses import replace

import pytest

from vpeval.core.errors import InputError
from vpeval.editions.base import edition_of, render, unranked
from vpeval.records.names import UNRANKED, remarks
from vpeval.records.record import Record

FILES = [("2022", "results_summary.txt"), ("2024", "result_for_rank"), ("2026", "result_for_rank")]
REMARK = "# not ranked: mine: no attacker was trained on its speech, and VoicePrivacy {} ranks by such a one"


def eers(attacker, condition, value, model):
    tags = {"system": "original" if condition == "oo" else "mine", "condition": condition, "attacker": attacker}
    place = {"set": "toy_test_trials_f", "gender": "f"}
    return [Record(m, value, notes={"attack_model": model}, **place, **tags) for m in ("eer_kaldi", "eer_threshold")]


def wers():
    counts = {"ins": 0, "del": 0, "sub": 1, "ref_words": 10}
    tags = (("original", "o"), ("mine", "a"))
    return [Record("wer", 10.0, counts=counts, system=s, set="toy_test_asr", condition=c) for s, c in tags]


UNTRAINED = [
    *wers(),
    *eers("ecapa", "oo", 0.01, "unprotected"),
    *eers("ecapa", "aa", 0.30, "lazy-informed"),
    *eers("f0", "oo", 0.44, "unprotected"),
    *eers("f0", "aa", 0.48, "lazy-informed"),
    *eers("similar", "aa", 0.35, "none"),
]
VERIFIED = [
    replace(record, metric=metric)
    for record in (*eers("ecapa", "oo", 0.01, "unprotected"), *eers("plda", "aa", 0.125, "semi-informed"))
    for metric in ("eer_kaldi", "eer_threshold", "cllr", "min_cllr", "eer_rocch")
    if record.metric == "eer_kaldi"
]
"""Everything that a verification block needs."""
TRAINED = [*UNTRAINED, *eers("plda", "aa", 0.125, "semi-informed")]


@pytest.fixture
def read(tmp_path):
    def read_text(text, edition, name):
        (tmp_path / name).write_text(text)
        return edition_of(edition).file(name).read(tmp_path / name, "mine")

    return read_text


@pytest.mark.parametrize(("edition", "name"), FILES)
@pytest.mark.parametrize("attacker", ["f0", "ecapa", "similar", None])
def test_an_attacker_who_was_not_trained_so_does_not_stand_there(read, edition, name, attacker):
    text = render(UNTRAINED, edition, name, attacker, "ecapa")
    found = read(text, edition, name)
    assert "ASV_eval_anon" not in {record.attacker for record in found}
    assert "ASV_eval^anon results" not in text and "EER test anon" not in text
    assert "48" not in text and "35" not in text
    assert text.count(REMARK.format(edition)) == 1
    assert {record.value for record in found if record.metric.startswith("eer")} == {
        0.30 if edition == "2026" else 0.01
    }


@pytest.mark.parametrize(("edition", "name"), FILES)
def test_the_trained_one_does(read, edition, name):
    text = render(TRAINED, edition, name, "plda", "ecapa")
    found = {record.attacker: record.value for record in read(text, edition, name) if record.attacker}
    assert found["ASV_eval_anon"] == 0.125
    assert "not ranked" not in text
    assert render(TRAINED, edition, name, None, "ecapa") == text


def test_another_is_not_taken_for_the_trained_one():
    with pytest.raises(InputError, match=r"attacker 'f0' was not trained on speech of the system.*--attacker plda"):
        render(TRAINED, "2024", "result_for_rank", "f0", "ecapa")


def test_who_was_trained_on_anonymised_speech_is_not_the_attacker_of_original_speech(read):
    found = read(render(TRAINED, "2026", "result_for_rank", "plda", "plda"), "2026", "result_for_rank")
    assert {record.attacker for record in found if record.attacker} == {"ASV_eval_anon"}


def test_views_say_it_once_where_the_records_do():
    why = unranked(UNTRAINED, "2024")
    noted = [r if r.system == "original" else r.with_notes({UNRANKED: why["mine"]}) for r in UNTRAINED]
    assert [f"# {remark}" for remark in remarks(noted)] == [f"{REMARK.format('2024')} (ASV_eval^anon)"]
    assert render(noted, "2024", "result_for_rank", None, "ecapa").count("not ranked") == 1


def test_only_editions_that_rank_by_such_an_attacker_miss_one():
    assert set(unranked(UNTRAINED, "2022")) == {"mine"}
    assert unranked(UNTRAINED, "2020") == {} == unranked(TRAINED, "2024")
    assert unranked(wers(), "2024") == {}


@pytest.mark.parametrize(("edition", "name"), [("2020", "results.txt"), *FILES])
def test_a_file_of_a_challenge_says_that_its_sets_are_of_none_or_were_rebuilt(read, edition, name):
    def text_of(recipe="", protocol=""):
        notes = {"protocol": protocol} if protocol else {}
        records = [record.with_notes(notes).tagged({"recipe": recipe}) for record in (*VERIFIED, *wers())]
        return render(records, edition, name, "plda", "ecapa")

    foreign = "# protocol: foreign. Sets of recipe toy, not those of a challenge: toy_test_trials_f, toy_test_asr\n"
    rebuilt = "# protocol: rebuilt. Sets drawn by us, not those of the official lists: toy_test_trials_f"
    texts = [text_of("toy"), text_of("toy", "rebuilt"), text_of("toy", "official"), text_of()]
    assert [text.count(foreign) for text in texts] == [1, 0, 0, 0]
    assert [text.count(rebuilt) for text in texts] == [0, 1, 0, 0]
    # Below the results, and not among them when they are read again.
    for text in texts[:2]:
        assert text.splitlines()[-1].startswith("# ") and read(text, edition, name) == read(texts[2], edition, name)


def test_the_file_of_the_legal_paper_knows_no_challenge_and_names_attackers_that_are_not_the_papers():
    def text_of(attacker):
        params, tags = {"N": 20, "L": 1}, {"system": "mine", "set": "toy_all", "recipe": "toy", "condition": "aa"}
        notes = {"attack_model": "semi-informed", "attack_model_legal": "Informed"}
        one = Record("linkability", 0.5, params=params, notes=notes, attacker=attacker, **tags)
        return render([*(record.tagged({"recipe": "toy"}) for record in TRAINED), one], "2020", "results_legal.txt")

    assert "protocol" not in text_of("plda")
    said = (
        "# attackers: plda; those of the legal paper are an ECAPA-TDNN trained on train-clean-360, compared by cosines"
    )
    assert said in text_of("plda") and "attackers:" not in text_of("ecapa_scratch")
