"""Tables in the layout of the 2020 supplement, from published numbers and from results of a run."""

import csv
from decimal import Decimal
from pathlib import Path

import pytest
from test_latex import compile_tables, needs_latex
from tex_tables import read_tables

from vpeval.core.errors import InputError
from vpeval.records.metrics import describe
from vpeval.records.record import Record
from vpeval.results import latex_supplement
from vpeval.results.load import load
from vpeval.results.published import COLUMNS

SUPPLEMENT = Path(__file__).parents[3] / "shared/reference/published_results/2020/supplement_tables.tsv"
NAMES = ("eer_rocch", "cllr", "min_cllr", "zebra_population", "zebra_individual", "dsys", "g_vd", "deid")
METRICS = {describe("eer_kaldi").latex: "eer", **{describe(name).latex: name for name in NAMES}}
MADE_UP = """\
2	dev	LibriSpeech	female	eer	ignorant		Orig	8.66
2	dev	LibriSpeech	female	eer	ignorant		A1	46.9
2	dev	LibriSpeech	male	eer	ignorant		Orig	1.20
2	dev	LibriSpeech	male	eer	ignorant		A1	54.19
2	dev	VCTK different	female	eer	ignorant		A1	49.69
2	dev	LibriSpeech	female	eer	lazy-informed		Orig	8.66
2	dev	LibriSpeech	female	eer	lazy-informed		B1	36.79
8	dev	VCTK common	male	g_vd			B1	-9.91
8	dev	VCTK common	male	deid			B1	100.0
10	dev	LibriSpeech	female	eer	semi-informed		Orig	8.66
10	dev	LibriSpeech	female	eer	semi-informed		B1	18.89
18	test	LibriSpeech	female	eer	ignorant	objective	Orig	7.664
18	test	LibriSpeech	female	eer	ignorant	objective	B1	47.260
18	test	LibriSpeech	female	eer		subjective	Orig	15.301
18	test	LibriSpeech	female	eer		subjective	B1	36.343
18	test	LibriSpeech	female	cllr	ignorant	objective	B1	151.822
18	test	LibriSpeech	female	cllr		subjective	B1	0.987
"""


def cells_of(tables):
    """The cells of all tables as the file of published tables has them: columns without the value → value."""
    found = {}
    for name, text in tables.items():
        number = int(name.removeprefix("supplement_"))
        partition = "test" if number == 18 or number % 2 else "dev"
        for rows in read_tables(text):
            heads, data, block = rows[0], "", {}
            assert heads[:2] == ["Data", "Gender"]
            for row in rows[1:]:
                if not any(row[1:]):
                    block = read_title(row[0])
                    continue
                data = row[0] or data
                for system, cell in zip(heads[2:], row[2:], strict=True):
                    if cell != "--":
                        place = (
                            str(number),
                            partition,
                            data,
                            row[1],
                            *block,
                            "Orig" if system == "original" else system,
                        )
                        assert place not in found
                        found[place] = Decimal(cell.replace("$-$", "-"))
    return found


def read_title(title):
    """Metric, attack and kind of a block."""
    name, _, attack = title.partition(" -- ")
    metric = METRICS[name]
    kind = next((word for word in ("objective", "subjective") if attack.startswith(word)), "")
    attack = attack.removeprefix("objective, ").removeprefix("subjective").partition(" (")[0]
    return metric, attack, kind


def published(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = [list(row.values()) for row in csv.DictReader(file, delimiter="\t")]
    return {tuple(row[:-1]): Decimal(row[-1]) for row in rows}


@pytest.fixture
def made_up(tmp_path):
    path = tmp_path / "tables.tsv"
    path.write_text("\t".join(COLUMNS) + "\n" + MADE_UP)
    return path


def test_published_numbers_have_their_places(made_up):
    tables = latex_supplement.tables(load([made_up]))
    assert list(tables) == ["supplement_02", "supplement_08", "supplement_10", "supplement_18"]
    assert cells_of(tables) == published(made_up)


@pytest.mark.skipif(not SUPPLEMENT.is_file(), reason="the published tables are not at hand")
def test_all_values_of_the_supplement_have_their_places():
    tables = latex_supplement.tables(load([SUPPLEMENT]))
    assert list(tables) == [f"supplement_{number:02d}" for number in (*range(2, 16), 18)]
    wanted = published(SUPPLEMENT)
    assert len(wanted) == 4152
    assert cells_of(tables) == wanted
    for text in tables.values():
        assert text.count("Published numbers (supplement\\_tables.tsv).") == 1 and "dagger" not in text


def test_a_block_has_the_digits_of_its_published_numbers(made_up):
    tables = latex_supplement.tables(load([made_up]))
    assert "LibriSpeech & female & 8.66 & 46.90 & --" in tables["supplement_02"]
    assert "7.664 & 47.260" in tables["supplement_18"] and "-- & 151.822" in tables["supplement_18"]
    assert "female & 8.66 & 18.89" in tables["supplement_10"]


def test_systems_stand_in_the_order_of_the_file_and_sets_below_their_data(made_up):
    (rows,) = read_tables(latex_supplement.tables(load([made_up]))["supplement_02"])
    assert rows[0] == ["Data", "Gender", "original", "A1", "B1"]
    assert [row[:2] for row in rows[2:5]] == [["LibriSpeech", "female"], ["", "male"], ["VCTK different", "female"]]


def number(metric, value, condition="oa", attacker="plda", model="ignorant", **more):
    system = "original" if condition == "oo" else "mine"
    tags = {"system": system, "set": "mini_dev_trials_f", "gender": "f", "condition": condition, "attacker": attacker}
    return Record(metric, value, **{"notes": {"attack_model": model}, **tags, **more})


def test_results_of_a_run_have_a_block_for_every_attacker():
    records = [
        number("eer_kaldi", 0.05, "oo", model="unprotected"),
        number("eer_threshold", 0.04, "oo", model="unprotected"),
        number("eer_kaldi", 0.3, lower=0.2, upper=0.4),
        number("eer_kaldi", 0.2, "aa", "similar", "none"),
        number("eer_kaldi", 0.1, "aa", "plda_anon", "semi-informed"),
        number("deid", 0.9, "", "ecapa", params={"mode": "vpc"}, notes={}, system="mine"),
        number("deid", 0.8, "", "ecapa", params={"mode": "full"}, notes={}, system="mine"),
        number("cllr", 3.0, notes={"attack_model": "ignorant", "no_cost": "cosines"}),
        Record("eer_kaldi", 0.5, system="mine", set="mini_all", condition="oa"),
    ]
    tables = latex_supplement.tables(records)
    assert list(tables) == ["supplement_02", "supplement_08", "supplement_10"]
    assert read_tables(tables["supplement_02"])[0][1:] == [
        [r"EER (Kaldi), \% -- ignorant (oa), plda", "", "", ""],
        ["mini", "female", "5.00", "30.00"],
    ]
    assert read_tables(tables["supplement_08"])[0] == [
        ["Data", "Gender", "mine"],
        [r"DeID, \%, ecapa", "", ""],
        ["mini", "female", "90.0"],
    ]
    assert read_tables(tables["supplement_10"])[0][1:] == [
        [r"EER (Kaldi), \% -- similar-system (aa), similar (original speech: plda)", "", "", ""],
        ["mini", "female", "5.00", "20.00"],
        [r"EER (Kaldi), \% -- semi-informed (aa), plda\_anon (original speech: plda)", "", "", ""],
        ["mini", "female", "5.00", "10.00"],
    ]
    assert "for similar-system and semi-informed attacks" in tables["supplement_10"]
    assert latex_supplement.tables(records, "2024") == tables, "no system has another EER"


def test_original_speech_of_two_attackers_is_not_guessed():
    records = [number("eer_kaldi", 0.05, "oo", name) for name in ("a", "b")]
    records += [number("eer_kaldi", 0.3, "aa", "c", "semi-informed")]
    (rows,) = read_tables(latex_supplement.tables(records)["supplement_10"])
    assert rows[0] == ["Data", "Gender", "mine"]


def test_own_and_published_numbers_share_no_block(made_up):
    own = number("eer_kaldi", 0.3, set="libri_dev_trials_f")
    text = latex_supplement.tables([*load([made_up]), own])["supplement_02"]
    (rows,) = read_tables(text)
    assert rows[0][2:] == [r"original$^{\dagger}$", r"A1$^{\dagger}$", r"B1$^{\dagger}$", "mine"]
    assert [r"EER (Kaldi), \% -- ignorant (oa), plda", *[""] * 5] in rows
    assert text.count(r"$\dagger$: published numbers (tables.tsv).") == 1


def test_own_listening_tests_stand_beside_the_ignorant_attacker():
    heard = {
        "params": {"estimator": "eer_threshold", "scores": "normalised rank"},
        "notes": {},
        "attacker": "listeners",
    }
    records = [
        number("listening_eer", 0.4, **heard),
        number("listening_eer", 0.1, "oo", **heard),
        number("listening_eer", 0.2, **{**heard, "set": "", "gender": ""}),
        number("eer_threshold", 0.3),
        number("eer_threshold", 0.05, "oo", model="unprotected"),
        number("eer_threshold", 0.3, set="mini_test_trials_f"),
        number("eer_threshold", 0.2, "aa", model="lazy-informed"),
    ]
    (rows,) = read_tables(latex_supplement.tables(records)["supplement_18"])
    assert rows[1:] == [
        [r"EER (threshold), \% -- objective, ignorant (oa), plda", "", "", ""],
        ["mini", "female", "5.00", "30.00"],
        [r"EER (threshold), \% -- subjective", "", "", ""],
        ["mini", "female", "10.00", "40.00"],
    ]


def test_two_values_for_one_cell_are_refused():
    with pytest.raises(InputError, match="two values of eer_kaldi for mine mini_dev_trials_f oa"):
        latex_supplement.tables([number("eer_kaldi", 0.3), number("eer_kaldi", 0.2, params={"p": 1})])


@needs_latex
def test_the_tables_compile(made_up, tmp_path):
    wide = [number("eer_kaldi", 0.1, system=f"system_{n:02d}") for n in range(40)]
    assert compile_tables([*latex_supplement.tables(load([made_up])).values()], tmp_path)
    assert compile_tables([*latex_supplement.tables(wide).values()], tmp_path)
