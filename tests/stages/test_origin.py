"""No stale number survives: what was measured on other data than those that are there now is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from toy_recipe import ROOT, SYSTEM, make_toy

from vpeval.anon.hook_program import Provenance
from vpeval.core.errors import InputError
from vpeval.jobs.stamps import STAMP, fingerprint, write_stamp
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.records.record import Record, read_records
from vpeval.results.load import load
from vpeval.stages import origin, results
from vpeval.stages.anonymisation import refuse_surprises
from vpeval.stages.scoring import verify


def anonymise(options: str, audio: str) -> None:
    """Note who made the data, as stage 3 does."""
    for data in sorted(Path("data").glob(f"*_{SYSTEM}")):
        Provenance("my/hook.py", options, "ab" * 32, "spk", 7, f"{audio} {data.name}").write(data)


def embed() -> None:
    """Note what embeddings were made from, as stage 5 does."""
    for vectors in Path("exp/toy/embeddings").glob("*/*"):
        write_stamp(vectors / STAMP, fingerprint([Path("data") / vectors.name], {}), [vectors])


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    make_toy(tmp_path, ("dev",))
    monkeypatch.chdir(tmp_path)
    anonymise("--alpha 1", "first")
    embed()
    plan = make_plan(Settings(recipe="toy"))
    verify(plan)
    results.collect(plan)
    return plan


def table(plan: Plan) -> Path:
    return plan.run / results.TABLE


def test_every_number_says_which_data_and_which_model_it_is_of(plan: Plan) -> None:
    records = read_records(table(plan))
    ours = [record for record in records if record.system == SYSTEM]
    assert {len(record.notes["model_sha256"]) for record in records if record.attacker == "ecapa"} == {32}
    assert {(r.notes["anonymiser"], r.notes["anon_options"], r.notes["anon_seed"]) for r in ours} == {
        ("my/hook.py", "--alpha 1", "7")
    }
    digests = {record.set: record.notes["data_sha256"] for record in ours}
    assert len(set(digests.values())) > 1 and all(digests.values())
    assert not any("data_sha256" in record.notes for record in records if record.system != SYSTEM)


def test_numbers_of_a_recogniser_say_which_model_they_are_of(plan: Plan) -> None:
    record = Record("wer", 5.0, set="toy_dev_asr", system=SYSTEM, condition="a", recogniser=plan.asr)
    (noted,) = origin.with_origin(plan, [record])
    assert len(noted.notes["model_sha256"]) == 32


def test_numbers_of_data_that_were_made_again_are_refused_until_they_are_measured_again(plan: Plan) -> None:
    anonymise("--alpha 2", "second")
    for stage in (verify, results.collect):
        with pytest.raises(InputError, match=rf"was made from another data/toy_dev_.*_{SYSTEM} .*--stage 5"):
            stage(plan)
    embed()
    verify(plan)
    results.collect(plan)
    assert {r.notes["anon_options"] for r in read_records(table(plan)) if r.system == SYSTEM} == {"--alpha 2"}


def test_a_submission_is_made_of_the_data_that_were_measured(plan: Plan) -> None:
    records = load([table(plan)])
    origin.refuse_other_data(plan, records)
    anonymise("--alpha 2", "second")
    with pytest.raises(InputError, match="was measured on other data than those of mcadams that are there now"):
        origin.refuse_other_data(plan, records)


@pytest.mark.parametrize(("note", "what"), [("data_sha256", "data of mcadams on toy_"), ("model_sha256", "model of")])
def test_a_table_that_mixes_runs_is_refused(plan: Plan, note: str, what: str) -> None:
    rows = [json.loads(line) for line in table(plan).read_text().splitlines()]
    last = next(row for row in reversed(rows) if row["attacker"] == "ecapa" and row["system"] == SYSTEM)
    last["notes"][note] = "0" * 32
    table(plan).write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=f"are a mixture: not all come from the same {what}"):
        load([table(plan)])


def test_data_whose_originals_have_changed_are_out_of_date(plan: Plan) -> None:
    for data in sorted(Path("data").glob(f"*_{SYSTEM}")):
        source = data.with_name(data.name.removesuffix(f"_{SYSTEM}"))
        write_stamp(data / STAMP, fingerprint([source], {}), [data])
    results.collect(plan)
    with open("data/toy_dev_enrolls/text", "a") as file:
        file.write("x\n")
    with pytest.raises(InputError, match=r"was made from another data/toy_dev_enrolls "):
        results.collect(plan)


def test_a_run_that_would_replace_data_made_otherwise_is_refused_before_any_work(plan: Plan) -> None:
    hook = Provenance("local/anon/mcadams/anonymize.py", "--alpha 1", "", "spk", 0)
    for data in Path("data").glob(f"*_{SYSTEM}"):
        hook.write(data)

    def wanting(**choices: object) -> Plan:
        chosen = make_plan(Settings(recipe="toy", **choices))  # type: ignore[arg-type]
        return replace(chosen, hook=ROOT / hook.hook)

    refuse_surprises(wanting(anon_options="--alpha 1"), {2, 3, 4})
    refuse_surprises(wanting(), {6, 7})
    refuse_surprises(wanting(anon_options="--alpha 2", overwrite=True), {3})
    for choices, stages in (
        ({"anon_options": "--alpha 2"}, {3}),
        ({"anon_options": "--alpha 2"}, {6, 11}),
        ({}, {3}),
    ):
        with pytest.raises(InputError, match=r"options '--alpha 1'.*--system NAME.*--overwrite true"):
            refuse_surprises(wanting(**choices), stages)
