"""A recogniser that fails on original speech is told, and everything measured with it."""

from pathlib import Path

import pytest

from vpeval.core.files import write_table
from vpeval.measures.audit import audit_utility, with_warnings
from vpeval.records.names import WARNING
from vpeval.records.record import Record


def wer(value: float, system: str = "original", name: str = "whisper_base", **params: object) -> Record:
    return Record("wer", value, params=params).tagged({"system": system, "set": "x_asr", "recogniser": name})


def uar(value: float, lower: float | None, system: str = "original") -> Record:
    record = Record("uar", value, lower, 100.0, notes={"chance": 12.5})
    return record.tagged({"system": system, "set": "emo", "recogniser": "whisper_linear"})


@pytest.mark.parametrize(
    ("value", "flagged"), [(4.0, False), (49.9, False), (50.0, True), (94.0, True), (float("inf"), True)]
)
def test_a_word_error_rate_beyond_half_is_flagged(value: float, flagged: bool) -> None:
    (finding,) = audit_utility([wer(value), wer(99.0, "mcadams")])
    assert finding.flagged is flagged
    assert ("nothing can be said" in finding.sentence) is flagged
    assert "whisper_base on original speech of x_asr: word error rate" in finding.sentence


def test_text_rules_that_do_not_fit_are_told_with_those_that_do(tmp_path: Path) -> None:
    def audited(hyp: str) -> str:
        write_table(tmp_path / "ref", {"a": "HE WENT HOME AT SEVEN", "b": "SHE STAYED"})
        write_table(tmp_path / "hyp", {"a": hyp, "b": "She stayed."})
        files = {name: str(tmp_path / name) for name in ("ref", "hyp")}
        (finding,) = audit_utility([wer(102.0, normalizer="vpc2024").with_files(files)], "egs/x/recipe.conf")
        return finding.sentence

    sentence = audited("He went home, at 7.")
    assert "The text rules vpc2024 do not fit" in sentence
    assert (
        "by the rules vpc2020 the word error rate is 0.0 %. Put text_rules=vpc2020 into egs/x/recipe.conf" in sentence
    )
    assert "No other text rules help" in audited("Il est parti à la maison.")


@pytest.mark.parametrize(("value", "lower", "flagged"), [(70.0, 65.0, False), (15.0, 12.0, True), (12.5, None, True)])
def test_an_emotion_recogniser_must_beat_chance_beyond_its_interval(
    value: float, lower: float | None, flagged: bool
) -> None:
    (finding,) = audit_utility([uar(value, lower)])
    assert finding.flagged is flagged


def test_the_warning_goes_with_every_number_of_the_recogniser_and_with_no_other() -> None:
    records = [
        wer(94.0),
        wer(97.0, "mcadams"),
        wer(5.0, name="vosk_digits"),
        wer(9.0, "mcadams", "vosk_digits"),
        uar(70, 65),
    ]
    warned = with_warnings(records)
    assert [WARNING in record.notes for record in warned] == [True, True, False, False, False]
    assert warned[1].value == 97.0 and "94.0 %" in str(warned[1].notes[WARNING])


def test_genders_and_small_language_models_are_no_findings_of_their_own() -> None:
    women = wer(94.0).tagged({"gender": "f"})
    assert audit_utility([wer(5.0), women, wer(60.0, lm="small")]) != []
    assert [finding.flagged for finding in audit_utility([wer(5.0), women, wer(60.0, lm="small")])] == [False]
