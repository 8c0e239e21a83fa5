import pytest
from in_process import call

from vpeval.records.record import Record, write_records
from vpeval.results.published import COLUMNS

DEV = """\
ASV-toy_dev_enrolls-toy_dev_trials_f
  EER: 18%
  Cllr (min/act): 0.304/42.857
  ROCCH-EER: 17.600%
ASR-toy_dev_asr
  %WER 4.00 [ 1 / 25, 0 ins, 0 del, 1 sub ]
"""
SIX = ["ASR_combined", "ASR_dev", "ASR_test", "ASV_combined", "ASV_dev", "ASV_test"]


@pytest.fixture
def convert(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/results.txt").write_text(DEV + DEV.replace("_dev", "_test"))
    (tmp_path / "run/dev_only.txt").write_text(DEV)

    return lambda *arguments: call("results_to_latex.py", *arguments, cwd=tmp_path)


def test_six_tables_are_put_beside_a_file_in_any_directory(convert, tmp_path):
    assert convert("run/results.txt").returncode == 0
    assert sorted(p.name for p in (tmp_path / "run/latex").glob("*.tex")) == [
        f"results.{name}.tex" for name in (*SIX, "privacy_dev", "privacy_test")
    ]


def test_style_and_directory_can_be_chosen(convert, tmp_path):
    assert convert("--style", "vpc2020", "--out-dir", "tables", str(tmp_path / "run/results.txt")).returncode == 0
    assert (
        "1 & toy\\_dev & o & o & f & 18.000 & 0.304 & 42.857\\\\ \\hline\n"
        in (tmp_path / "tables/results.ASV_dev.tex").read_text()
    )


def test_a_file_with_development_data_alone_leaves_tables_out_and_says_so(convert, tmp_path, caplog):
    done = convert("run/dev_only.txt")
    assert done.returncode == 0
    assert caplog.messages == ["no data for ASV_test, ASV_combined, ASR_test, ASR_combined: left out"]
    assert sorted(p.name for p in (tmp_path / "run/latex").glob("*.tex")) == [
        "dev_only.ASR_dev.tex",
        "dev_only.ASV_dev.tex",
        "dev_only.privacy_dev.tex",
    ]


def test_several_files_share_their_tables(convert, tmp_path):
    other = tmp_path / "other/results.txt"
    other.parent.mkdir()
    other.write_text(DEV + DEV.replace("_asr", "_asr_anon").replace("trials_f", "trials_f_anon"))
    assert convert("--out-dir", "tables", "run/results.txt", "other/results.txt").returncode == 0
    assert (tmp_path / "tables/comparison.ASV_dev.tex").exists()
    assert "original & other" in (tmp_path / "tables/comparison.systems_dev.tex").read_text()


def test_a_file_of_another_edition_can_be_given_with_a_name(convert, tmp_path):
    rank = "---- ASV_eval^anon results ----\ndataset split gender enrollment trial EER\ntoy dev f anon anon 12.9\n"
    (tmp_path / "result_for_rank").write_text(rank)
    assert convert("--out-dir", "tables", "b2=result_for_rank", "run/results.txt").returncode == 0
    table = (tmp_path / "tables/comparison.ASV_dev.tex").read_text()
    assert "ASV\\_eval\\_anon & toy\\_dev & a & a & f & -- & 12.900" in table


def test_the_edition_decides_the_style_and_booktabs_is_a_choice(convert, tmp_path):
    for edition, style, expected in (
        ("2020", (), r"\begin{tabular}{|c|"),
        ("2022", (), r"\begin{tabular}{|c|"),
        ("2024", (), r"\toprule"),
        ("2020", ("--style", "booktabs"), r"\toprule"),
    ):
        assert convert("--edition", edition, *style, "run/results.txt").returncode == 0
        assert expected in (tmp_path / "run/latex/results.ASV_dev.tex").read_text(), edition
        assert r"\toprule" in (tmp_path / "run/latex/results.privacy_dev.tex").read_text()


def test_the_style_of_the_supplement_has_systems_of_several_runs_as_columns(convert, tmp_path):
    def eer(system, condition, attacker, value):
        tags = {"system": system, "set": "toy_dev_trials_f", "gender": "f", "condition": condition}
        return Record("eer_kaldi", value, attacker=attacker, **tags)

    for system, value in (("one", 0.25), ("two", 0.375)):
        records = [eer("original", "oo", "a", 0.05), eer(system, "oa", "a", value)]
        write_records(tmp_path / f"{system}.jsonl", records)
    cell = "2\tdev\tLibriSpeech\tfemale\teer\tignorant\t\t"
    (tmp_path / "tables.tsv").write_text("\t".join(COLUMNS) + f"\n{cell}Orig\t8.66\n{cell}B1\t50.14\n")
    files = ("one.jsonl", "two.jsonl", "tables.tsv")
    assert convert("--style", "supplement", "--out-dir", "tables", *files).returncode == 0
    assert [path.name for path in (tmp_path / "tables").glob("*.tex")] == ["comparison.supplement_02.tex"]
    table = (tmp_path / "tables/comparison.supplement_02.tex").read_text()
    assert r"Data & Gender & original$^{\dagger\ddagger}$ & one & two & B1$^{\dagger\ddagger}$ \\" in table
    assert r"toy & female & 5.00 & 25.00 & 37.50 & --" in table
    assert r"LibriSpeech & female & 8.66 & -- & -- & 50.14" in table and table.count("published numbers") == 1


def test_the_attacker_of_the_asv_tables_can_be_chosen(convert, tmp_path):
    tags = {"system": "original", "set": "toy_dev_trials_f", "gender": "f", "condition": "oo"}
    found = [Record("eer_kaldi", value, attacker=name, **tags) for name, value in (("a", 0.25), ("b", 0.125))]
    write_records(tmp_path / "all.jsonl", found)
    for options, expected in (((), "25.000"), (("--asv-eval", "b"), "12.500")):
        assert convert(*options, "all.jsonl").returncode == 0
        table = (tmp_path / "latex/all.ASV_dev.tex").read_text()
        assert expected in table and table.count("toy\\_dev") == 1
    refused = convert("--asv-eval", "c", "all.jsonl")
    assert "no verification results of attacker 'c'; there are: a, b" in refused.stderr


def test_the_style_of_2020_has_the_six_tables_only(convert, tmp_path):
    assert convert("--style", "vpc2020", "run/results.txt").returncode == 0
    assert len(list((tmp_path / "run/latex").glob("*.tex"))) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.txt:1: is empty;"),
        ("ASV-toy_dev_enrolls-toy_dev_trials_f\n  EER: 18%\n", "bad.txt:2: block"),
        ("<html>\n", "bad.txt:1: is neither a results file of the challenges"),
    ],
)
def test_a_bad_file_is_one_message_and_no_table(convert, tmp_path, text, message):
    (tmp_path / "bad.txt").write_text(text)
    done = convert("bad.txt")
    assert done.returncode == 1
    assert done.stderr.startswith(f"results_to_latex.py: {message}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "latex").exists()


def test_files_of_both_attackers_of_2022_have_tables_of_their_own(tmp_path):
    block = "ASV-libri_dev_enrolls-libri_dev_trials_f\n  EER: {}%\n  Cllr (min/act): 0.3/42.8\n  ROCCH-EER: 8.2%\n"
    for name, eer in (("results.anon_x", "8.6"), ("results.orig_x", "9.7")):
        (tmp_path / name).write_text(block.format(eer))
        assert call("results_to_latex.py", name, cwd=tmp_path).returncode == 0
    tables = {path.name: path.read_text() for path in (tmp_path / "latex").glob("*.tex")}
    assert "8.600" in tables["results.anon_x.ASV_dev.tex"]
    assert "9.700" in tables["results.orig_x.ASV_dev.tex"]


def test_metrics_attackers_and_systems_are_chosen_and_intervals_left_out(convert, tmp_path):
    def eer(system, condition, attacker, metric="eer_kaldi"):
        tags = {"system": system, "set": "toy_test_trials_f", "gender": "f", "condition": condition}
        return Record(metric, 0.2, 0.1, 0.3, attacker=attacker, **tags)

    records = [eer("original", "oo", "a"), eer("one", "aa", "a"), eer("one", "aa", "b"), eer("two", "aa", "a")]
    wer = Record("wer", 5.0, 4.0, 6.0, system="two", set="toy_test_asr", condition="a", recogniser="asr")
    write_records(tmp_path / "all.jsonl", [*records, eer("two", "aa", "a", "min_cllr"), wer])
    options = ["--metrics", "eer_kaldi wer", "--attackers", "a", "--systems", "two one", "--intervals", "false"]
    assert convert(*options, "--out-dir", "tables", "all.jsonl").returncode == 0
    table = (tmp_path / "tables/all.systems_test.tex").read_text()
    assert "& two & one \\\\" in table
    assert table.count("EER") == 1 and "C_" not in table and "asr" in table and "[" not in table.split("midrule")[1]


@pytest.mark.parametrize(
    ("option", "name", "expected"),
    [
        ("--metrics", "eer", "no metric 'eer' in these results; there are: "),
        ("--metrics", "deid", "'deid' was not measured; there are: "),
        ("--attackers", "x", "no attacker 'x' in these results; there are: "),
        ("--systems", "x", "no system 'x' in these results; there are: "),
    ],
)
def test_what_is_not_there_is_an_error_that_names_what_is(convert, option, name, expected):
    done = convert(option, name, "run/results.txt")
    assert done.returncode == 1
    assert expected in done.stderr
