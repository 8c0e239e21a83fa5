import shutil

import pytest
from in_process import call

from vpeval.records.record import Record, write_records


def wer(system, errors):
    counts = {"ref_words": 100, "ins": 0, "del": 0, "sub": errors}
    condition = "o" if system == "original" else "a"
    return Record("wer", float(errors), counts=counts, system=system, set="toy_dev_asr", condition=condition)


@pytest.fixture
def records(tmp_path):
    write_records(tmp_path / "results.jsonl", [wer("original", 4), wer("mcadams", 8)])
    write_records(tmp_path / "more.jsonl", [wer("original", 4), wer("pool", 6)])
    return tmp_path


def test_the_view_of_one_system_is_written(records):
    assert call("write_results.py", "results.jsonl", "mcadams/results.txt", cwd=records).returncode == 0
    assert (records / "mcadams/results.txt").read_text() == (
        "ASR-toy_dev_asr\n  %WER 4.00 [ 4 / 100, 0 ins, 0 del, 4 sub ]\n"
        "ASR-toy_dev_asr_anon\n  %WER 8.00 [ 8 / 100, 0 ins, 0 del, 8 sub ]\n"
    )


@pytest.mark.parametrize(
    "command",
    [
        "write_results.py results.jsonl thesis/results.txt",
        "make_report.py results.jsonl thesis/report.html",
        "results_to_latex.py --out-dir thesis results.jsonl",
        "compare.py thesis results.jsonl more.jsonl",
    ],
)
def test_a_file_of_somebody_is_not_replaced_and_one_of_ours_is(records, command):
    script, *arguments = command.split()
    assert call(script, *arguments, cwd=records).returncode == 0
    thesis = records / "thesis"
    ours = sorted(path.relative_to(thesis) for path in thesis.rglob("*") if path.is_file())
    assert call(script, *arguments, cwd=records).returncode == 0
    names = [path for path in ours if path.name[0] != "." and path.parts[0] != "figures"]
    assert names
    for name in names:
        shutil.rmtree(thesis)
        thesis.mkdir()
        (thesis / name).write_text("three years")
        refused = call(script, *arguments, cwd=records)
        assert refused.returncode == 1 and f"{name}: was not made by this toolkit" in refused.stderr
        assert (thesis / name).read_text() == "three years"


def test_of_several_systems_one_must_be_chosen(records):
    files = ("results.jsonl", "more.jsonl", "results.txt")
    refused = call("write_results.py", *files, cwd=records)
    assert refused.returncode == 1
    assert refused.stderr == (
        "write_results.py: records of several systems (mcadams, pool); choose one with --system\n"
    )
    assert not (records / "results.txt").exists()
    assert call("write_results.py", "--system", "pool", *files, cwd=records).returncode == 0
    assert "%WER 6.00" in (records / "results.txt").read_text()


def test_an_unknown_system_is_answered_with_the_known_ones(records):
    refused = call("write_results.py", "--system", "typo", "results.jsonl", "results.txt", cwd=records)
    assert refused.stderr == "write_results.py: no records of system 'typo'; there are: mcadams\n"


def test_the_summary_shows_the_systems_of_all_files(records):
    done = call("print_summary.py", "results.jsonl", "more.jsonl", cwd=records)
    assert done.returncode == 0
    assert "toy_dev_asr  WER %      4.00     8.00  6.00\n" in done.stdout


def verification(attacker, condition, value, **notes):
    system = "original" if condition == "oo" else "mcadams"
    tags = {"system": system, "set": "toy_test_trials_f", "gender": "f", "condition": condition, "attacker": attacker}
    metrics = ("eer_kaldi", "eer_threshold", "eer_rocch", "min_cllr", "cllr")
    return [Record(metric, value, notes=notes, **tags) for metric in metrics]


@pytest.fixture
def ladder(tmp_path):
    """A pretrained attacker and one that was trained on anonymised speech."""
    records = [wer("original", 4), wer("mcadams", 8), *verification("ecapa", "oo", 0.05)]
    records += verification("ecapa", "aa", 0.25) + verification("plda", "aa", 0.125, attack_model="semi-informed")
    write_records(tmp_path / "results.jsonl", records)
    return tmp_path


def test_the_file_of_2024_shows_each_attacker_in_its_place(ladder):
    assert call("write_results.py", "--edition", "2024", "results.jsonl", "out", cwd=ladder).returncode == 0
    text = (ladder / "out").read_text()
    assert "0     toy  test      f   original  original  5.000" in text
    assert "2     toy  test      f       anon  anon  12.500" in text
    assert "25.000" not in text


def test_the_file_of_2026_shows_both_attackers_on_anonymised_speech(ladder):
    assert call("write_results.py", "--edition", "2026", "results.jsonl", "out", cwd=ladder).returncode == 0
    text = (ladder / "out").read_text()
    assert text.index("25.000") < text.index("ASV_eval^anon") < text.index("12.500")


def test_the_files_of_2022(ladder):
    refused = call("write_results.py", "--edition", "2022", "results.jsonl", "results.txt", cwd=ladder)
    assert "(attackers: ecapa, plda); choose one with --attacker" in refused.stderr
    options = ("--edition", "2022", "--attacker", "plda")
    assert call("write_results.py", *options, "results.jsonl", "results.txt", cwd=ladder).returncode == 0
    assert (ladder / "results.txt").read_text().count("  EER: ") == 2
    assert call("write_results.py", *options, "results.jsonl", "results_summary.txt", cwd=ladder).returncode == 0
    assert (
        (ladder / "results_summary.txt")
        .read_text()
        .endswith(
            "Weighted average EER test orig: 5.000\nWeighted average EER test anon: 12.500\n"
            "Average WER dev orig: 4.000\nAverage WER dev anon: 8.000\n"
        )
    )


def test_without_an_attacker_trained_on_anonymised_speech_there_is_a_word_of_warning(ladder, caplog):
    write_records(ladder / "weak.jsonl", verification("ecapa", "aa", 0.25))
    call("write_results.py", "--edition", "2024", "weak.jsonl", "results.jsonl", "out", cwd=ladder)
    assert caplog.text == ""
    write_records(ladder / "weak.jsonl", [wer("mcadams", 8), *verification("ecapa", "aa", 0.25)])
    assert call("write_results.py", "--edition", "2024", "weak.jsonl", "out", cwd=ladder).returncode == 0
    assert "no attacker was trained on anonymised speech, but the challenge ranks by such a one" in caplog.text
    assert "ASV_eval^anon results" not in (ladder / "out").read_text()


def test_an_unknown_attacker_is_answered_with_the_known_ones(ladder):
    done = call("write_results.py", "--attacker", "typo", "results.jsonl", "out", cwd=ladder)
    assert done.stderr == "write_results.py: no records of attacker 'typo'; there are: ecapa, plda\n"


def test_singling_out_and_linkability_have_a_file_of_their_own_in_every_edition(ladder):
    tags = {"system": "mcadams", "set": "toy_all", "condition": "aa", "attacker": "plda"}
    write_records(ladder / "more.jsonl", [Record("linkability", 0.5, params={"N": 5, "L": 1}, **tags)])
    for edition in ("2020", "2026"):
        files = ("results.jsonl", "more.jsonl", "mcadams/results_legal.txt")
        assert call("write_results.py", "--edition", edition, *files, cwd=ladder).returncode == 0
        assert (ladder / "mcadams/results_legal.txt").read_text() == (
            "LEGAL-toy_all_anon-toy_all_anon plda lazy-informed/-\n  Linkability (N=5, L=1): 50.000%\n"
        )
    assert call("results_to_latex.py", "mcadams/results_legal.txt", cwd=ladder).returncode == 0
    assert "50.0" in (ladder / "mcadams/latex/results_legal.legal.tex").read_text()
