import shutil
import subprocess

import pytest
from tex_tables import read_tables

from vpeval.core.errors import InputError
from vpeval.records.record import Record
from vpeval.results import latex_challenge

EER = {("dev", "oo"): 0.08665, ("dev", "oa"): 0.5014, ("dev", "aa"): 0.125}
EER |= {("test", "oo"): 0.07664, ("test", "oa"): 0.4726, ("test", "aa"): 0.18}


def asv(set_name, condition, eer, system="mcadams", **more):
    system = "original" if condition == "oo" else system
    values = {"eer_kaldi": eer, "min_cllr": 0.304, "cllr": 42.857, "eer_rocch": 0.1}
    return [Record(m, v, system=system, set=set_name, condition=condition, **more) for m, v in values.items()]


def asr(set_name, condition, wer, system="mcadams", **params):
    system = "original" if condition == "o" else system
    return [Record("wer", wer, system=system, set=set_name, condition=condition, params=params)]


def run(partitions=("dev", "test"), system="mcadams"):
    """A small run: three trial sets whose names do not sort as their rows do, two recognition sets."""
    records = []
    for partition in partitions:
        for condition in ("aa", "oa", "oo"):
            for trials in ("vctk_{}_trials_f", "vctk_{}_trials_f_common", "libri_{}_trials_m"):
                records += asv(trials.format(partition), condition, EER[partition, condition], system)
        for corpus in ("vctk", "libri"):
            records += asr(f"{corpus}_{partition}_asr", "a", 8.764, system)
            records += asr(f"{corpus}_{partition}_asr", "o", 5.251, system)
    return records


def rows(text):
    """The cells of the body rows, without the rules."""
    lines = [line.strip().removeprefix("\\hline ") for line in text.splitlines()]
    return [
        line.partition("\\\\")[0].strip().split(" & ") for line in lines if line[:1].islower() or line[:1].isdigit()
    ]


def test_the_combined_asv_table_of_2020_is_that_of_the_challenge():
    text = latex_challenge.tables(run(), "vpc2020")["ASV_combined"]
    assert r"\begin{tabular}{|c|c|c|c|c||c|c|c||c|c|c|c|}" in text
    body = text[text.index("\n1 & ") + 1 : text.index(r"\end{tabular}")]
    assert body.splitlines()[:4] == [
        r"1 & libri\_dev & 8.665 & 0.304 & 42.857 & o & o & m & libri\_test & 7.664 & 0.304 & 42.857\\ \hline",
        r"2 & libri\_dev & 50.140 & 0.304 & 42.857 & o & a & m & libri\_test & 47.260 & 0.304 & 42.857\\ \hline",
        r"3 & libri\_dev & 12.500 & 0.304 & 42.857 & a & a & m & libri\_test & 18.000 & 0.304 & 42.857\\ \hline",
        r"\hline 4 & vctk\_dev\_com & 8.665 & 0.304 & 42.857 & o & o & f & vctk\_test\_com & 7.664 & 0.304 & 42.857\\ \hline",
    ]
    assert r"\hline 7 & vctk\_dev\_dif &" in text
    assert r"\caption{ASV results for both development and test partitions (o-original, a-anonymized speech).}" in text
    assert r"\label{tab:ASV-combined}" in text


def test_the_single_tables_of_2020_have_their_columns_in_order():
    tables = latex_challenge.tables(run(), "vpc2020")
    assert rows(tables["ASV_test"])[1] == ["2", r"libri\_test", "o", "a", "m", "47.260", "0.304", "42.857"]
    assert rows(tables["ASR_dev"]) == [
        ["1", r"libri\_dev", "o", "5.25"],
        ["2", r"libri\_dev", "a", "8.76"],
        ["3", r"vctk\_dev", "o", "5.25"],
        ["4", r"vctk\_dev", "a", "8.76"],
    ]
    assert r"\label{tab:ASV-development}" in tables["ASV_dev"]


def test_two_language_models_give_two_columns_small_first():
    records = [
        *asr("libri_dev_asr", "o", 3.83, lm="large"),
        *asr("libri_dev_asr", "o", 5.25, lm="small"),
        *asr("libri_test_asr", "o", 4.15, lm="large"),
        *asr("libri_test_asr", "o", 5.55, lm="small"),
    ]
    tables = latex_challenge.tables(records, "vpc2020")
    assert rows(tables["ASR_combined"]) == [["1", r"libri\_dev", "5.25", "3.83", "o", r"libri\_test", "5.55", "4.15"]]
    assert r"\begin{tabular}{|c|c|c|c||c||c|c|c|}" in tables["ASR_combined"]
    assert r"\multicolumn{2}{c||}{\textbf{WER,\%}}" in tables["ASR_combined"]
    assert "WER,\\%, small} & \\textbf{WER,\\%, large}" in tables["ASR_dev"]


def test_booktabs_needs_no_multirow_and_says_what_it_needs():
    for text in latex_challenge.tables(run()).values():
        assert text.startswith("% Needs \\usepackage{booktabs,graphicx}.\n")
        assert "multirow" not in text
        assert "|" not in text


def test_booktabs_puts_development_and_test_side_by_side():
    text = latex_challenge.tables(run())["ASV_combined"]
    assert r"& & & & \multicolumn{3}{c}{Development} & \multicolumn{3}{c}{Test} \\" in text
    assert r"\cmidrule(lr){5-7} \cmidrule(lr){8-10}" in text
    assert rows(text)[0] == ["libri", "o", "o", "m", "8.665", "0.304", "42.857", "7.664", "0.304", "42.857"]
    assert text.count(r"\addlinespace") == 2


@pytest.mark.parametrize("partition", ["dev", "test"])
def test_one_partition_alone_has_no_combined_table(partition):
    assert list(latex_challenge.tables(run([partition]))) == [f"ASV_{partition}", f"ASR_{partition}"]


def test_all_six_tables_are_made_and_named():
    assert tuple(latex_challenge.tables(run())) == latex_challenge.TABLES


def test_several_systems_get_a_column_and_share_the_rows_of_the_original():
    records = run(["dev"], "my_system") + [r for r in run(["dev"], "pool") if r.system != "original"]
    text = latex_challenge.tables(records)["ASV_dev"]
    assert "Data set & System & Enrol." in text
    assert [row[1:4] for row in rows(text)[:5]] == [
        ["original", "o", "o"],
        [r"my\_system", "o", "a"],
        [r"my\_system", "a", "a"],
        ["pool", "o", "a"],
        ["pool", "a", "a"],
    ]


def test_several_attackers_get_a_column():
    records = [r for a in ("lazy", "semi") for r in asv("libri_dev_trials_f", "aa", 0.2, attacker=a)]
    assert [row[1] for row in rows(latex_challenge.tables(records)["ASV_dev"])] == ["lazy", "semi"]


def ladder():
    """A run of three attackers; ASV_eval comes first."""
    name, records = "libri_dev_trials_f", []
    for condition in ("aa", "oo", "oa"):
        records += asv(name, condition, 0.1, attacker="plda")
    records += asv(name, "aa", 0.2, attacker="similar") + asv(name, "aa", 0.3, attacker="plda_anon")
    return records


def test_of_several_attackers_asv_eval_has_the_rows_of_the_plan_and_no_column():
    text = latex_challenge.tables(ladder(), "vpc2020")["ASV_dev"]
    assert [row[:4] for row in rows(text)] == [[str(n), r"libri\_dev", *c] for n, c in enumerate(("oo", "oa", "aa"), 1)]
    assert "Attacker" not in text and "ASV results by plda for development data" in text


def test_asv_eval_is_chosen_and_who_it_did_not_attack_is_named(caplog):
    text = latex_challenge.tables(ladder(), asv_eval="plda_anon")["ASV_dev"]
    assert [row[1:3] for row in rows(text)] == [["a", "a"]] and "30.000" in text
    assert caplog.messages == ["no results of attacker plda_anon for original: not in the ASV tables"]
    with pytest.raises(
        InputError, match="no verification results of attacker 'x'; there are: plda, similar, plda_anon"
    ):
        latex_challenge.tables(ladder(), asv_eval="x")


def test_where_no_attacker_has_attacked_all_systems_none_is_lost():
    records = [*ladder(), *asv("libri_dev_trials_f", "aa", 0.4, "other", attacker="foreign")]
    text = latex_challenge.tables(records)["ASV_dev"]
    assert "Data set & System & Attacker" in text
    assert {row[2] for row in rows(text)} == {"plda", "similar", r"plda\_anon", "foreign"}


def test_a_long_table_of_2020_continues_and_counts_on():
    systems = [f"s{n:02d}" for n in range(40)]
    records = [r for s in systems for c in ("oa", "aa") for r in asv("libri_dev_trials_f", c, 0.1, s, attacker="x")]
    text = latex_challenge.tables(records, "vpc2020")["ASV_dev"]
    first, second = read_tables(text)
    assert [len(first), len(second)] == [51, 31] and second[1][0] == "51"


def test_a_row_that_one_partition_lacks_is_marked():
    records = run() + asv("libri_dev_trials_f", "oo", 0.25)
    assert (
        rows(latex_challenge.tables(records)["ASV_combined"])[0]
        == ["libri", "o", "o", "f", "25.000", "0.304", "42.857"] + ["--"] * 3
    )


def test_an_infinite_cllr_is_set_as_a_symbol():
    records = [Record("cllr", float("inf"), system="original", set="libri_dev_trials_f", condition="oo")]
    assert rows(latex_challenge.tables(records)["ASV_dev"])[0][-1] == r"$\infty$"


def test_a_set_without_partition_is_test_data():
    tables = latex_challenge.tables(asv("demo_trials_f", "oo", 0.1))
    assert "ASV_test" in tables and "ASV_dev" not in tables
    with pytest.raises(InputError, match="'demo' has no name of the kind libri_dev_trials_f"):
        latex_challenge.tables(asv("demo", "oo", 0.1))


def test_two_values_for_one_cell_are_refused():
    with pytest.raises(InputError, match="two values of wer for original libri_dev_asr o"):
        latex_challenge.tables(
            asr("libri_dev_asr", "o", 1.0, normalizer="a") + asr("libri_dev_asr", "o", 2.0, normalizer="b")
        )


def test_files_of_2024_have_their_own_eer_and_no_other_columns():
    record = Record("eer_threshold", 0.125, set="libri_dev_trials_f", condition="oo", system="original")
    assert rows(latex_challenge.tables([record])["ASV_dev"]) == [["libri\\_dev", "o", "o", "f", "12.500"]]
    assert "EER (threshold)" in latex_challenge.tables([record])["ASV_dev"]
    assert "threshold" not in latex_challenge.tables([record, *asv("libri_dev_trials_f", "oo", 0.1)])["ASV_dev"]


def test_several_recognisers_are_not_called_attackers():
    records = [Record("wer", 5.0, set="libri_dev_asr", condition="o", system="original", recogniser=a) for a in "ab"]
    assert "Recogniser" in latex_challenge.tables(records)["ASR_dev"]
    assert "Attacker" not in latex_challenge.tables(records)["ASR_dev"]


def test_rows_of_the_evaluation_plan_appear_as_the_plan_prints_them():
    """Four of the rows of original data that Tables 8 and 10 of the plan share with the published results."""
    published = {"libri_dev_trials_m": (1.242, 0.034, 14.25), "libri_test_trials_m": (1.114, 0.041, 15.303)}
    published |= {"vctk_dev_trials_m": (1.439, 0.052, 1.158), "vctk_test_trials_m": (2.067, 0.072, 1.817)}
    records = [
        Record(metric, value, set=name, condition="oo", system="original", gender="m")
        for name, (eer, low, cost) in published.items()
        for metric, value in (("eer_kaldi", eer / 100), ("min_cllr", low), ("cllr", cost))
    ]
    assert [
        " ".join(row).replace("\\", "") for row in rows(latex_challenge.tables(records, "vpc2020")["ASV_combined"])
    ] == [
        "1 libri_dev 1.242 0.034 14.250 o o m libri_test 1.114 0.041 15.303",
        "2 vctk_dev_dif 1.439 0.052 1.158 o o m vctk_test_dif 2.067 0.072 1.817",
    ]


PACKAGES = ("booktabs", "graphicx", "multirow", "amsmath", "rotating", "xcolor")
needs_latex = pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")


def compile_tables(tables, directory):
    """Whether pdflatex takes the tables; skipped where a package is missing."""
    packages = [name for name in PACKAGES if any(name in t for t in tables)]
    for name in packages:
        if subprocess.run(["kpsewhich", f"{name}.sty"], capture_output=True).returncode:
            pytest.skip(f"the LaTeX package {name} is not installed")
    source = directory / "tables.tex"
    preamble = r"\PassOptionsToPackage{table}{xcolor}\documentclass{article}" + "".join(
        rf"\usepackage{{{name}}}" for name in packages
    )
    source.write_text(rf"{preamble}\begin{{document}}{''.join(tables)}\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", source.name]
    return subprocess.run(command, cwd=directory, capture_output=True).returncode == 0


@needs_latex
@pytest.mark.parametrize("style", latex_challenge.STYLES)
def test_the_tables_compile(style, tmp_path):
    assert compile_tables(list(latex_challenge.tables(run(), style).values()), tmp_path)
