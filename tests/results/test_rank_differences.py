"""Two systems compared by what ranks disclose, on the same speakers."""

import numpy as np
import pytest

from vpeval.core.errors import InputError
from vpeval.measures.disclosure import RankedInputs
from vpeval.metrics.ranks import Ranks
from vpeval.metrics.srd import disclosure
from vpeval.records.record import Record, write_records
from vpeval.results.load import read_all
from vpeval.results.resampled import measured
from vpeval.results.significance import EXPLORATORY, differences

SPEAKERS = tuple(f"s{i:02}" for i in range(30))
FIELDS = {"srd_max": "max_d", "srd_mean": "mean_d", "srd_idr": "idr", "srd_rank_spread": "rank_spread"}


def ranks_of(decay, rng, inputs=20):
    """Ranks of every speaker's inputs among 30; the greater `decay`, the more of them are first."""
    shares = np.exp(-decay * np.arange(30))
    first = rng.choice(30, size=30 * inputs, p=shares / shares.sum())
    return Ranks(first, first, np.repeat(np.arange(30), inputs), 30, 30)


def table(folder, system, ranks, speakers=SPEAKERS, attacker="f0"):
    out = folder / system
    RankedInputs(ranks, speakers).write(out / "records.inputs.npz")
    records = []
    for estimator in ("empirical", "beta-binomial"):
        found = disclosure(ranks.histograms(np.ones((1, 30))), estimator)
        for metric, field in FIELDS.items():
            notes = {"attack_model": "lazy-informed", "files": {"inputs": "records.inputs.npz"}}
            params = {"estimator": estimator, "N": 30}
            tags = {"system": system, "set": "toy_all", "condition": "aa", "attacker": attacker}
            records.append(Record(metric, float(getattr(found, field)[0]), params=params, notes=notes, **tags))
    write_records(out / "results.jsonl", records)
    return out / "results.jsonl"


def compare(*tables, resamples=300, wanted=""):
    found = [one for one in measured(read_all(tables), "2024") if wanted in ("", one.record.params["estimator"])]
    return differences(found, tables[0].parent, resamples=resamples)


def test_a_file_of_ranks_is_read_as_it_was_written(tmp_path):
    ranks = ranks_of(0.3, np.random.default_rng(0))
    RankedInputs(ranks, SPEAKERS).write(tmp_path / "x.npz")
    again = RankedInputs.read(tmp_path / "x.npz")
    assert again.speakers == SPEAKERS
    assert (again.ranks.first == ranks.first).all() and (again.ranks.owner == ranks.owner).all()
    first = (tmp_path / "x.npz").read_bytes()
    RankedInputs(ranks, SPEAKERS).write(tmp_path / "x.npz")
    assert (tmp_path / "x.npz").read_bytes() == first


@pytest.mark.parametrize("content", [b"", b"no zip at all"])
def test_a_damaged_file_of_ranks_is_a_clear_error(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(InputError, match="run the scorer again"):
        RankedInputs.read(tmp_path / "x.npz")


def test_systems_that_disclose_more_and_less_differ_in_all_summaries_by_both_estimators(tmp_path):
    rng = np.random.default_rng(1)
    found = compare(*(table(tmp_path, name, ranks_of(decay, rng)) for name, decay in (("a", 0.6), ("b", 0.1))))
    assert {(r.metric, r.params["estimator"]) for r in found} == {
        (f"{metric}_difference", estimator) for metric in FIELDS for estimator in ("empirical", "beta-binomial")
    }
    for record in found:
        assert record.notes["family"] == EXPLORATORY and record.counts["speakers"] == 30
        sign = -1 if record.metric.startswith("srd_rank_spread") else 1
        assert sign * record.value > 0 and record.notes["p_value"] < 0.01
        assert record.lower <= record.value <= record.upper


def test_a_system_does_not_differ_from_itself(tmp_path):
    ranks = ranks_of(0.3, np.random.default_rng(2))
    for record in compare(table(tmp_path, "a", ranks), table(tmp_path, "b", ranks)):
        assert (record.value, record.lower, record.upper, record.notes["p_value"]) == (0, 0, 0, 1)


def test_equal_systems_differ_significantly_no_more_often_than_allowed(tmp_path):
    rng = np.random.default_rng(3)
    alarms = 0
    for study in range(25):
        tables = [table(tmp_path / str(study), name, ranks_of(0.2, rng, inputs=5)) for name in "ab"]
        found = compare(*tables, resamples=100, wanted="empirical")
        alarms += sum(r.notes["p_value"] < 0.05 for r in found if r.metric == "srd_idr_difference")
    assert alarms <= 4


def test_the_difference_of_identification_rates_is_that_of_means_over_speakers(tmp_path):
    rng = np.random.default_rng(4)
    ranks = [ranks_of(decay, rng) for decay in (0.5, 0.3)]
    found = compare(
        *(table(tmp_path, name, one) for name, one in zip("ab", ranks, strict=True)), resamples=2000, wanted="empirical"
    )
    idr = next(r for r in found if r.metric == "srd_idr_difference" and r.params["estimator"] == "empirical")
    apart = ranks[0].identified - ranks[1].identified
    assert idr.value == pytest.approx(apart.mean())
    error = apart.std(ddof=1) / np.sqrt(30)
    assert (idr.upper - idr.lower) / 2 == pytest.approx(2.045 * error, rel=0.1)


def test_ranks_of_other_speakers_are_not_compared(tmp_path, caplog):
    ranks = ranks_of(0.3, np.random.default_rng(5))
    others = tuple(f"t{i:02}" for i in range(30))
    assert compare(table(tmp_path, "a", ranks), table(tmp_path, "b", ranks, others)) == []
    assert "other speakers" in caplog.text
