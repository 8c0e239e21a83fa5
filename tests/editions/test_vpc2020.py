import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.editions import vpc2020
from vpeval.records.record import Record

PUBLISHED_SHAPE = """\
ASV-toy_dev_enrolls-toy_dev_trials_f
  EER: 18%
  Cllr (min/act): 0.304/42.857
  ROCCH-EER: 17.600%
ASV-toy_dev_enrolls-toy_dev_trials_f_anon
  EER: 12.5%
  Cllr (min/act): 0.996/inf
  ROCCH-EER: 8.584%
ASV-toy_dev_enrolls-toy_dev_trials_f_common
  EER: 0%
  Cllr (min/act): 0.000/0.001
  ROCCH-EER: 0.000%
ASV-toy_dev_enrolls_anon-toy_dev_trials_f_anon
  EER: 50.14%
  Cllr (min/act): 0.894/16.345
  ROCCH-EER: 36.281%
ASR-toy_dev_asr
  %WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] exp/decode_toy_dev_asr_tgsmall/wer_12_0.5
  %WER 3.83 [ 1522 / 39783, 187 ins, 139 del, 1196 sub ] exp/decode_toy_dev_asr_tglarge/wer_13_0.0
ASR-toy_dev_asr_anon
  %WER 100.00 [ 3 / 3, 0 ins, 3 del, 0 sub ] [PARTIAL] exp/decode_toy_dev_asr_anon_tgsmall/wer_7_0.0
"""

POST_EVALUATION_SHAPE = """\
ASV-toy_test_enrolls_anon-toy_test_trials_m_anon
  EER: 2.89%
  Cllr (min/act): 0.091/0.866
  ROCCH-EER: 2.749%
  linkability: 0.637457
  Population: 2e-05 bit
  Individual: 3.142 (C)
ASV-toy_test_enrolls_anon-toy_test_trials_m_common_anon
  EER: 1.13%
  Cllr (min/act): 1.000/1.041
  ROCCH-EER: 0.958%
  linkability: 0.000000
  Population: 5e-04 bit
  Individual: 0 (0)
ASR-toy_test_asr_anon
  %WER 4.00 [ 1 / 25, 0 ins, 0 del, 1 sub ]
toy_dev_trials_f
  De-Identification : 0.9991788001480236
  Gain of voice distinctiveness : -5.85846561096138
toy_dev_trials_m
  De-Identification : 1.0
  Gain of voice distinctiveness : 0.5
toy_dev_trials_f_common
  De-Identification : 0.25
  Gain of voice distinctiveness : 1e-05
toy_test_trials_f
  De-Identification : 0.5
  Gain of voice distinctiveness : -inf
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        path = tmp_path / "results.txt"
        path.write_text(text)
        return vpc2020.read(path, **options)

    return read_text


@pytest.mark.parametrize("text", [PUBLISHED_SHAPE, POST_EVALUATION_SHAPE])
def test_writing_what_was_read_gives_the_same_bytes(read, text):
    assert vpc2020.render(read(text)) == text


@pytest.mark.parametrize("text", [PUBLISHED_SHAPE, POST_EVALUATION_SHAPE])
def test_a_missing_final_newline_and_foreign_line_ends_are_read(read, text):
    assert vpc2020.render(read(text.removesuffix("\n"))) == text
    assert vpc2020.render(read(text.replace("\n", "\r\n"))) == text


def test_the_order_of_the_records_does_not_matter(read):
    assert vpc2020.render(reversed(read(POST_EVALUATION_SHAPE))) == POST_EVALUATION_SHAPE


def test_names_become_conditions_sets_and_systems(read):
    records = [r for r in read(PUBLISHED_SHAPE) if r.metric == "eer_kaldi"]
    assert [(r.system, r.set, r.gender, r.condition, r.value) for r in records] == [
        ("original", "toy_dev_trials_f", "f", "oo", 0.18),
        ("anon", "toy_dev_trials_f", "f", "oa", 0.125),
        ("original", "toy_dev_trials_f_common", "f", "oo", 0),
        ("anon", "toy_dev_trials_f", "f", "aa", 0.5014),
    ]
    assert {r.params["enroll"] for r in records} == {"toy_dev_enrolls"}


def test_an_infinite_cllr_is_read_as_such(read):
    assert math.inf in [r.value for r in read(PUBLISHED_SHAPE) if r.metric == "cllr"]


def test_error_rates_come_with_their_counts_and_language_model(read):
    small, large, partial = (r for r in read(PUBLISHED_SHAPE) if r.metric == "wer")
    assert small.value == 100 * 2089 / 39783
    assert small.counts == {"ref_words": 39783, "ins": 172, "del": 250, "sub": 1667}
    assert (small.params["lm"], large.params["lm"]) == ("small", "large")
    assert (small.condition, small.system) == ("o", "original")
    assert (partial.condition, partial.system, partial.set) == ("a", "anon", "toy_dev_asr")


def test_the_suffix_names_the_system_and_the_caller_may_rename_it(read):
    text = POST_EVALUATION_SHAPE.replace("_anon", "_mcadams")
    assert {r.system for r in read(text)} == {"mcadams"}
    assert {r.system for r in read(text, system="mine")} == {"mine"}
    assert vpc2020.render(read(text)) == POST_EVALUATION_SHAPE


def test_a_corpus_may_have_a_hyphen_in_its_name(read):
    text = POST_EVALUATION_SHAPE.replace("toy_", "my-toy_")
    assert vpc2020.render(read(text)) == text


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "is empty"),
        ("{}\n", 1, "no line of a VPC 2020 results file"),
        ("  EER: 1%\n", 1, "no line of a VPC 2020 results file"),
        ("ASV-toy_dev_enrolls-toy_dev_trials_f\n  EER: 18%\n", 2, "ends without 'Cllr"),
        ("ASV-toy_dev_enrolls-toy_dev_trials_f\n", 1, "ends without 'EER:'"),
        ("ASV-toy_dev_enrolls-toy_dev_trials_f\n  EER: 18\n", 2, "is no value of block"),
        ("ASV-toy_dev_enrolls-toy_dev_trials_f\n  EER: nan%\n", 2, "is no value of block"),
        ("ASV-toy_dev_enrolls-toy_dev_trials_f\n  EER: 1-8%\n", 2, "'1-8' is not a number"),
        ("ASV-toy_dev_enrolls-toy_dev_trials_f\n  EER: 18%\n  EER: 18%\n", 3, "one too many"),
        ("ASV-toy_dev_enrolls_anon-toy_dev_trials_f\n", 1, "no pair o-o, o-a or a-a"),
        ("ASR-toy_dev_asr\n", 1, "ends without a %WER line"),
        ("ASR-toy_dev_asr\n  %WER 5.25 [ 2089 / 39\n", 2, "is not a %WER line"),
        ("ASR-toy_dev_asr\n  %WER 9.99 [ 1 / 25, 0 ins, 0 del, 1 sub ]\n", 2, "does not follow from its counts"),
        ("ASR-toy_dev_asr\n  %WER 4.00 [ 1 / 25, 1 ins, 0 del, 1 sub ]\n", 2, "does not follow from its counts"),
        ("toy_dev_trials_f\n", 1, "has no values"),
        (
            "toy_dev_trialsnontarget_m\n  De-Identification : 0.5\n",
            1,
            "'toy_dev_trialsnontarget_m' is no name of a set",
        ),
        ("ASR-toy_dev_asrx\n  %WER 4.00 [ 1 / 25, 0 ins, 0 del, 1 sub ]\n", 1, "'toy_dev_asrx' is no name of a set"),
        (PUBLISHED_SHAPE + "ASR-toy_dev_asr\n", 22, "appears twice"),
        (PUBLISHED_SHAPE + "\n" + PUBLISHED_SHAPE, 22, "blank line"),
    ],
)
def test_a_bad_file_is_one_line_with_its_place(read, tmp_path, text, line, message):
    with pytest.raises(InputError) as error:
        read(text)
    assert str(error.value).startswith(f"{tmp_path / 'results.txt'}:{line}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def asv(metric, value, condition="oo", system="original", **more):
    return Record(metric, value, system=system, set="toy_dev_trials_f", condition=condition, **more)


def block(**more):
    return [asv(metric, 0.5, **more) for metric in ("eer_kaldi", "min_cllr", "cllr", "eer_rocch")]


def test_anonymised_data_have_one_suffix_whatever_the_system_is_called():
    text = vpc2020.render(block() + block(condition="aa", system="my-system", params={"enroll": "other_dev_enrolls"}))
    assert [line for line in text.splitlines() if line.startswith("ASV")] == [
        "ASV-other_dev_enrolls_anon-toy_dev_trials_f_anon",
        "ASV-toy_dev_enrolls-toy_dev_trials_f",
    ]


def test_metrics_without_a_place_in_the_file_are_left_out():
    assert vpc2020.render([*block(), asv("eer_threshold", 0.1)]) == vpc2020.render(block())


def test_the_tag_of_a_worst_case_disclosure_follows_from_its_value_where_the_record_has_none():
    assert vpc2020.render([*block(), asv("zebra_individual", 4.0)]).endswith("  Individual: 4.000 (C)\n")


def test_similarity_as_the_challenge_computed_it_is_preferred():
    records = [*block(), asv("deid", 0.1, params={"mode": "full"}), asv("deid", 0.2, params={"mode": "vpc"})]
    assert vpc2020.render(records).endswith("  De-Identification : 0.2\n")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "no verification or recognition records"),
        (block()[:2], "lacks min_cllr or cllr"),
        (block(system="a") + block(system="b"), "several systems (a, b); choose one with --system"),
        (block(attacker="x") + block(attacker="y"), "attackers: x, y); choose one with --attacker"),
        (block() + block(), "was a file given twice?"),
        ([Record("wer", 4.0, set="toy_dev_asr", condition="o")], "does not count 'ins'"),
    ],
)
def test_records_that_make_no_file_are_refused(records, message):
    with pytest.raises(InputError) as error:
        vpc2020.render(records)
    assert message in str(error.value)


fractions = st.integers(0, 704).map(lambda k: k / 704)
costs = st.floats(0, 300) | st.just(math.inf)


@settings(max_examples=50)
@given(fractions, costs, fractions, st.floats(0, 1), st.floats(0, 7), st.integers(0, 50))
def test_a_printed_file_is_read_back_to_itself(tmp_path_factory, eer, cllr, rocch, bits, individual, errors):
    counts = {"ref_words": 75, "ins": 0, "del": 0, "sub": errors}
    values = {"eer_kaldi": eer, "min_cllr": bits, "cllr": cllr, "eer_rocch": rocch, "dsys": bits}
    values |= {"zebra_population": bits / 100, "zebra_individual": individual, "g_vd": -individual}
    records = [asv(metric, value) for metric, value in values.items()]
    records.append(Record("wer", 0.0, set="toy_dev_asr", condition="o", system="original", counts=counts))
    printed = vpc2020.render(records)
    path = tmp_path_factory.mktemp("results") / "results.txt"
    path.write_text(printed)
    assert vpc2020.render(vpc2020.read(path)) == printed
