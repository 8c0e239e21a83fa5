"""Tables of the VoicePrivacy 2020 supplement: their values are records, and the same file comes out of these."""

from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.records.names import PUBLISHED, attack_model
from vpeval.records.record import Record, read_records, write_records
from vpeval.results.load import load
from vpeval.results.published import HEADER, PLACES, read_tables, render_tables

SUPPLEMENT = Path(__file__).parents[3] / "shared/reference/published_results/2020/supplement_tables.tsv"
TABLES = [
    HEADER,
    "2\tdev\tLibriSpeech\tfemale\teer\tignorant\t\tOrig\t8.1",
    "2\tdev\tLibriSpeech\tfemale\teer\tignorant\t\tX1\t43.20",
    "2\tdev\tLibriSpeech\tfemale\teer\tlazy-informed\t\tOrig\t8.10",
    "2\tdev\tLibriSpeech\tfemale\teer\tlazy-informed\t\tX1\t21.0",
    "5\ttest\tVCTK common\tmale\tzebra_individual\tignorant\t\tX1\t2.531",
    "9\ttest\tVCTK different\tmale\tdeid\t\t\tX1\t98.3",
    "9\ttest\tVCTK different\tmale\tg_vd\t\t\tX1\t-4.07",
    "10\tdev\tLibriSpeech\tfemale\teer\tsemi-informed\t\tOrig\t8.1",
    "10\tdev\tLibriSpeech\tfemale\teer\tsemi-informed\t\tX1\t12.34",
    "18\ttest\tVCTK common\tfemale\teer\tignorant\tobjective\tX1\t40.120",
    "18\ttest\tVCTK common\tfemale\teer\t\tsubjective\tOrig\t22.200",
    "18\ttest\tVCTK common\tfemale\teer\t\tsubjective\tX1\t33.300",
]


@pytest.fixture
def tables(tmp_path):
    def write(lines=TABLES):
        (tmp_path / "tables.tsv").write_text("".join(f"{line}\n" for line in lines))
        return tmp_path / "tables.tsv"

    return write


def test_cells_are_numbers_of_our_metrics_sets_and_attacks(tables):
    records = {(r.system, r.set, r.metric, r.condition, r.attacker): r for r in read_tables(tables())}
    original = records["original", "libri_dev_trials_f", "eer_kaldi", "oo", "ASV_eval"]
    assert (original.value, original.gender, attack_model(original)) == (0.081, "f", "unprotected")
    assert [place["attack"] for place in original.notes[PLACES]] == ["ignorant", "lazy-informed", "semi-informed"]
    for condition, attacker, attack, value in (
        ("oa", "ASV_eval", "ignorant", 0.432),
        ("aa", "ASV_eval", "lazy-informed", 0.21),
        ("aa", "ASV_eval_anon", "semi-informed", 0.1234),
    ):
        record = records["X1", "libri_dev_trials_f", "eer_kaldi", condition, attacker]
        assert (record.value, attack_model(record), record.lower) == (value, attack, None)
    zebra = records["X1", "vctk_test_trials_m_common", "zebra_individual", "oa", "ASV_eval"]
    assert (zebra.value, zebra.notes["tag"]) == (2.531, "C")
    assert records["X1", "vctk_test_trials_m", "deid", "", ""].value == 0.983
    assert records["X1", "vctk_test_trials_m", "g_vd", "", ""].value == -4.07
    heard = records["original", "vctk_test_trials_f_common", "listening_eer", "oo", "listeners"]
    assert (heard.value, heard.params) == (0.222, {"estimator": "eer_kaldi", "scores": "normalised rank"})
    assert records["X1", "vctk_test_trials_f_common", "listening_eer", "oa", "listeners"].value == 0.333
    objective = records["X1", "vctk_test_trials_f_common", "eer_kaldi", "oa", "ASV_eval"]
    assert (objective.value, objective.params) == (0.4012, {"kind": "objective"})
    assert all(r.notes[PUBLISHED] == "tables.tsv" and r.recipe == "vpc2020" for r in records.values())


def test_the_same_file_comes_out_of_the_records(tables, tmp_path):
    path = tables()
    records = load([path])
    assert len(records) == len(TABLES) - 1 - 2
    write_records(tmp_path / "results.jsonl", records)
    assert render_tables(read_records(tmp_path / "results.jsonl")) == path.read_text()
    assert render_tables(reversed(records)) == path.read_text()
    assert render_tables([Record("wer", 3.0)]) == HEADER + "\n"


@pytest.mark.skipif(not SUPPLEMENT.is_file(), reason="the supplement's tables are not at hand")
def test_all_values_of_the_supplement_are_records():
    records = load([SUPPLEMENT])
    assert sum(len(r.notes[PLACES]) for r in records) == 4152
    assert len({r.system for r in records}) == 19
    assert len({r.set for r in records}) == 12
    assert render_tables(records) == SUPPLEMENT.read_text()


@pytest.mark.parametrize(
    ("line", "before", "after", "words"),
    [
        (2, "8.1", "8,1", "value '8,1' is no number"),
        (2, "8.1", "8" * 400, "is no number such as 48.91"),
        (3, "43.20", "143.2", "a eer_kaldi of 1.432 cannot be"),
        (3, "\t\tX1", "\tX1", "has 8 columns, not 9"),
        (3, "X1", "", "system '' is no name"),
        (3, "X1", "original", "original speech is called Orig"),
        (4, "8.10", "9.10", "is not that of the other attack models"),
        (5, "lazy-informed", "ignorant", "a second eer_kaldi of X1 on libri_dev_trials_f"),
        (5, "lazy-informed", "strong", "attack 'strong' is not known; there are: ignorant, lazy-informed"),
        (6, "VCTK common", "VCTK", "data 'VCTK' is not known"),
        (6, "zebra_individual", "zebra", "metric 'zebra' is not known"),
        (7, "deid\t\t", "deid\tignorant\t", "a deid has no attack model"),
        (7, "test", "eval", "partition 'eval' is not dev or test"),
        (7, "\tmale", "\tm", "gender 'm' is not known; there are: female, male"),
        (11, "objective", "both", "kind 'both' is not known"),
        (13, "eer", "dsys", "metric 'listening_dsys' is not known"),
    ],
)
def test_a_line_that_is_no_cell_is_an_error_with_its_number(tables, line, before, after, words):
    lines = list(TABLES)
    assert before in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(before, after, 1)
    with pytest.raises(InputError) as error:
        load([tables(lines)])
    assert f"tables.tsv:{line}: " in str(error.value)
    assert words in str(error.value)


def test_another_header_is_an_error(tables):
    with pytest.raises(InputError, match=r"tables\.tsv:1: must begin with a line of the columns table, partition"):
        read_tables(tables(["table\tvalue"]))
