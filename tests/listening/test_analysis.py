"""From answers to results: no differences by chance, a simulated difference is found, exclusions are listed."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from toy import SYSTEMS, toy_material, toy_test

from vpeval.core.errors import InputError
from vpeval.listening import result_tables as tables
from vpeval.listening.analysis import Options, analyse, write_runs
from vpeval.listening.answers import TASKS, PlacedBoard, Responses, read_responses
from vpeval.listening.boards import cluster_accuracy, distances, linking_records
from vpeval.listening.design import DesignOptions, draw_design
from vpeval.listening.disk import ListeningTest, Settings, load_test, page_name
from vpeval.listening.exclusion import check_listeners
from vpeval.listening.ratings import (
    VERIFICATION,
    compare_systems,
    difference_records,
    draw,
    mean_records,
    verification_records,
)
from vpeval.listening.simulate import (
    PowerTarget,
    Quality,
    Spread,
    rate,
    required_listeners,
    simulate_answers,
    simulated_power,
)
from vpeval.listening.store import Store
from vpeval.metrics.paired import ranks_within
from vpeval.metrics.scores import eer_threshold, pool
from vpeval.records.record import Record, read_records, write_records
from vpeval.stages.results import _listened

ALL = ("original", *SYSTEMS)
SAME = {system: Quality(5.5, 5.5, 5.5, 5.5, 0.5) for system in ALL}
APART = {
    "original": Quality(8.5, 9, 8.5, 2.5, 0.95),
    "zorro": Quality(4, 6, 5, 3, 0.5),
    "quixote": Quality(6.5, 8, 7, 3, 0.8),
}


@pytest.fixture(scope="module")
def answered(data, tmp_path_factory):
    """A test that sixteen simulated listeners have answered, two of them without listening."""
    test = toy_test(data, tmp_path_factory.mktemp("answered") / "test", 16, per_system=4, attention=3)
    fill(test, APART, careless=2)
    return test


def fill(test, qualities, seed=0, careless=0):
    store = Store(test.database)
    with store.transaction():
        for answer in simulate_answers(test, qualities, Spread(), seed, careless):
            store.add(answer)
    store.close()


def design_only(data, listeners, per_system=4):
    """A test without recordings, for simulations."""
    plan = DesignOptions(listeners, per_system, boards=0, attention=0, headphones=0)
    settings = Settings("t", "c", "toy", ALL, listeners, "plane", 0, -26, "x")
    key = bytes(32)
    pages = {page_name(key, page): page for page in draw_design(toy_material(data), plan)}
    return ListeningTest(data, settings, key, pages, {}, {})


def tables_of(test, answers):
    responses = Responses(test, tuple(answers))
    return {task: responses.ratings(task) for task in TASKS["rating"]}


def blank_tables(data, listeners):
    """Tables of ratings to be filled in by `rated`."""
    test = design_only(data, listeners)
    return tables_of(test, simulate_answers(test, SAME, Spread(), 0))


def rated(blank, value_of):
    """The tables with the ratings that `value_of(table)` gives."""
    filled = {}
    for task, table in blank.items():
        value = value_of(table)
        filled[task] = replace(table, value=value, score=ranks_within(value, table.listener))
    return filled


def test_with_listeners_who_answer_at_random_no_corrected_test_is_significant(data):
    blank = blank_tables(data, 12)
    quiet = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        comparisons = compare_systems(rated(blank, lambda table: rng.integers(1, 11, len(table)).astype(float)))  # noqa: B023
        assert len(comparisons) == 12
        quiet += all(each.p_holm >= 0.01 for each in comparisons)
    assert quiet >= 190


def test_offsets_of_listeners_and_speakers_make_no_difference_between_systems(data):
    blank = blank_tables(data, 12)
    quiet = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)

        def judge(table, rng=rng):
            return rate(np.full(len(table), 5.5), table.listener, table.spk, Spread(2.0, 0.7, 1.5), rng).astype(float)

        quiet += all(each.p_holm >= 0.01 for each in compare_systems(rated(blank, judge)))
    assert quiet >= 190


def test_a_simulated_difference_is_found_with_the_planned_power(data):
    target = PowerTarget(difference=1.6, power=0.8, simulations=150)
    design = DesignOptions(1, 4, boards=0)
    needed = required_listeners(toy_material(data), design, target, Spread(), "naturalness")
    assert 4 < needed.listeners < 60 and needed.power >= 0.8
    blank = blank_tables(data, needed.listeners)
    seen, experiments = 0, 200
    for seed in range(experiments):
        rng = np.random.default_rng(seed)

        def judge(table, rng=rng):
            better = 1.6 * ((table.system == 2) & (table is blank["naturalness"]))
            recording = (table.system * 8 + table.spk).astype(np.intp)
            return rate(4.7 + better, table.listener, recording, Spread(), rng).astype(float)

        seen += any(
            each.group == "naturalness"
            and {each.system, each.versus} == {"zorro", "quixote"}
            and each.p_holm < target.alpha
            for each in compare_systems(rated(blank, judge))
        )
    assert seen / experiments >= 0.8 - 2 * np.sqrt(0.8 * 0.2 / experiments)


def test_more_listeners_and_larger_differences_are_seen_more_often(data):
    pages = draw_design(toy_material(data), DesignOptions(20, 4, boards=0))
    power = [
        simulated_power(
            [p for p in pages if p.listener < n], ALL, PowerTarget(d, simulations=60), Spread(), "naturalness"
        )
        for n, d in ((5, 1), (20, 1), (20, 2))
    ]
    assert power[0] < power[1] < power[2]
    nothing = simulated_power(pages, ALL, PowerTarget(0, simulations=60), Spread(), "naturalness")
    assert nothing <= 1 / 60


def test_every_number_of_the_supplement_is_recorded(answered, tmp_path):
    found = analyse(answered, tmp_path / "runs", Options(resamples=50))
    assert [each.listener for each in found.excluded] == [14, 15]
    assert found.responses.listeners == list(range(14))
    names = {(r.metric, r.system) for r in found.records}
    for metric in (
        *VERIFICATION,
        "listening_naturalness",
        "listening_similarity_same",
        "listening_cluster_accuracy",
        "listening_dsys",
    ):
        assert {system for name, system in names if name == metric} == set(ALL), metric
    for record in found.records:
        assert record.attacker == "listeners" and record.recipe == "toy"
        assert record.counts["listeners"] <= 14 and record.notes["excluded"] == 2
        if record.metric.startswith("listening_similarity"):
            assert record.lower <= record.value <= record.upper
    means = {
        r.system: r.value
        for r in found.records
        if r.metric == "listening_naturalness" and not r.set and r.params["scores"] == "normalised rank"
    }
    assert means["original"] > means["quixote"] > means["zorro"]
    eer = next(r for r in found.records if r.metric == "listening_eer" and r.system == "original" and not r.set)
    ratings = found.responses.ratings("similarity")
    own = ratings.where(ratings.system == 0)
    assert eer.value == eer_threshold(pool(own.score[own.is_target], own.score[~own.is_target])).value
    assert eer.counts["targets"] == eer.counts["nontargets"] == 14 * 2


def test_the_bytes_of_the_records_are_the_same_again(answered, tmp_path):
    found = [analyse(answered, tmp_path, Options(resamples=20)) for _ in range(2)]
    assert [r.to_json() for r in found[0].records] == [r.to_json() for r in found[1].records]


def test_intervals_cover_other_listeners_and_other_speakers(answered, tmp_path):
    found = analyse(answered, tmp_path, Options(resamples=100))
    record = next(r for r in found.records if r.metric == "listening_naturalness" and r.system == "zorro" and not r.set)
    ratings = found.responses.ratings("naturalness")
    own = ratings.score[ratings.system == ALL.index("zorro")]
    independent = own.std() / np.sqrt(len(own))
    assert record.upper - record.lower > 2 * 1.96 * independent * 0.8
    assert record.notes["interval"] == "listener and speaker bootstrap"


def test_no_interval_has_zero_width_where_all_ratings_agree(data):
    """Everybody gives naturalness 7, and rates pairs of one speaker 10 and others 1: every resample is the same."""
    blank = blank_tables(data, 4)
    agreed = rated(blank, lambda table: np.where(table.is_target, 10, 1))
    agreed |= {"naturalness": rated(blank, lambda table: np.full(len(table), 7))["naturalness"]}
    spks = len(blank["similarity"].names.spks)
    draws = draw([0, 1, 2, 3], 4, spks, 40, 0)
    found = [
        *mean_records(agreed, draws, {}),
        *difference_records(agreed, compare_systems(agreed), draws, {}),
        *verification_records(agreed["similarity"], draws, {}),
    ]
    assert found and all(r.lower is None or r.upper - r.lower > 1e-3 for r in found)
    assert all(r.lower is None or r.lower <= r.value <= r.upper for r in found)
    # Four listeners and speakers: up to 1 - 0.025^(1/4) = 60.2 % of others may rate otherwise, at worst 1 or 10.
    share = 1 - 0.025**0.25
    points = [r for r in found if r.metric == "listening_naturalness" and r.params["scores"] == "1 to 10"]
    for r in points:
        missed = 1 - 0.025 ** (1 / min(r.counts["listeners"], r.counts["speakers"]))
        assert (r.value, r.lower, r.upper) == pytest.approx((7, 7 - 6 * missed, 7 + 3 * missed))
    assert any(r.upper == pytest.approx(7 + 3 * share) for r in points)
    eer = [r for r in found if r.metric == "listening_eer" and not r.set]
    assert [(r.value, r.lower) for r in eer] == [(0, 0)] * 3 and all(r.upper == pytest.approx(share) for r in eer)


def test_rules_that_exclude_everybody_are_named(data, tmp_path):
    test = toy_test(data, tmp_path / "test", 2, per_system=2, attention=2, headphones=2)
    store = Store(test.database)
    with store.transaction():
        for answer in simulate_answers(test, APART, Spread(), 0):
            store.add(replace(answer, value=1 if answer.task == "tones" else answer.value))
    store.close()
    named = r"--exclude speed,attention removes all 2 listeners \(attention: 2"
    with pytest.raises(InputError, match=named) as error:
        analyse(test, tmp_path / "runs", Options(("speed", "attention"), resamples=0))
    assert "--exclude none" in str(error.value)


def test_exclusions_are_listed_and_can_be_switched_off(answered, tmp_path):
    text = tables.text_tables(analyse(answered, tmp_path, Options(resamples=0)))
    assert "14 listeners, 2 excluded" in text and "excluded: listener 15 (attention" in text
    everybody = analyse(answered, tmp_path, Options(rules=(), resamples=0))
    assert len(everybody.responses.listeners) == 16
    assert "kept, though a rule is broken: listener 15" in tables.text_tables(everybody)


def test_each_rule_finds_its_listener(data, tmp_path):
    test = toy_test(data, tmp_path / "test", 8, per_system=4, attention=2, headphones=3)
    answers = simulate_answers(test, APART, Spread(0.5, 0.3, 0.8), 0)

    def changed(a):
        page = test.pages[a.page]
        value, seconds = a.value, max(2.0, a.seconds)
        if a.listener == 1 and a.task == "tones":
            value = 1
        if a.listener == 2 and a.task == "quietest":
            value = page.truth % 3 + 1
        if a.listener == 3 and a.task == "similarity":
            value = 5
        if a.listener == 4:
            seconds = 0.4
        if a.listener == 5 and a.task in TASKS["rating"]:
            value = 11 - value
        return type(a)(a.listener, a.page, a.task, value, seconds, a.plays)

    judged = check_listeners(Responses(test, tuple(map(changed, answers))))
    assert [each.reasons for each in judged] == [
        (), ("attention",), ("headphones",), ("constant",), ("speed",), ("agreement",), (), ()
    ]  # fmt: skip


def test_objective_results_are_paired_with_those_of_the_listeners(answered, tmp_path):
    rng = np.random.default_rng(0)
    for k, system in enumerate(ALL):
        for gender in "fm":
            tags = {"system": system, "set": f"toy_test_trials_{gender}", "gender": gender, "attacker": "ecapa"}
            tags["condition"] = "oo" if system == "original" else "oa"
            value = 0.05 + 0.1 * k + 0.01 * rng.random()
            rows = [Record(name, value).tagged(tags) for name, _ in VERIFICATION.values()]
            lazy = [Record("eer_threshold", 0.9).tagged({**tags, "condition": "aa"})]
            write_records(tmp_path / f"runs/{system}/ASV-{gender}/records.jsonl", rows + lazy)
    found = analyse(answered, tmp_path / "runs", Options(resamples=0))
    assert found.attacker == "ecapa" and {len(pairs) for pairs in found.pairs.values()} == {6}
    assert all(both.objective < 0.5 for both in found.pairs["listening_eer"])
    r = next(c for c in found.correlations if c.params["of"] == "listening_eer" and c.params["systems"] == "all")
    both = found.pairs["listening_eer"]
    assert r.value == pytest.approx(np.corrcoef([b.objective for b in both], [b.subjective for b in both])[0, 1])
    assert r.lower < r.value < r.upper
    assert "EER (threshold) %, objective" in tables.text_tables(found)
    with pytest.raises(InputError, match=r"--attacker nobody: .* has results of ecapa"):
        analyse(answered, tmp_path / "runs", Options(attacker="nobody"))


def test_points_that_lie_by_speakers_are_clustered_right_and_shuffled_ones_by_chance():
    spks = ("a", "a", "a", "b", "b", "b")
    clear = np.array([[0, 0], [1, 0], [0, 1], [900, 900], [901, 900], [900, 902]], dtype=float)
    board = PlacedBoard(0, "x", tuple("123456"), spks, clear)
    assert cluster_accuracy(board) == 1
    assert distances(board).sum() / 30 == pytest.approx(1)
    assert cluster_accuracy(replace(board, spks=("a", "b", "a", "b", "a", "b"))) == pytest.approx(4 / 6)
    together = PlacedBoard(1, "x", tuple("123456"), spks, np.zeros((6, 2)))
    records = {r.metric: r for r in linking_records([board, together], 20, 0, {})}
    assert 0.5 <= records["listening_cluster_accuracy"].notes["chance"] <= 0.75
    assert records["listening_cluster_accuracy"].counts["boards"] == 2


def test_the_figures_of_the_report_show_the_results_of_listeners(answered, tmp_path):
    from vpeval.figures import catalogue
    from vpeval.figures.run_results import load_results

    write_runs(analyse(answered, tmp_path, Options(resamples=0)), tmp_path)
    results = load_results([tmp_path / f"{system}/listening/records.jsonl" for system in ALL])
    drawn = {plot.name: plot.draw(results, "2020") for plot in catalogue.CATALOGUE if plot.name.startswith("listening")}
    assert [name for name, figure in drawn.items() if figure is None] == ["listening_machine"]
    words = [text.get_text() for text in drawn["listening_violins"].findobj(lambda a: hasattr(a, "get_text"))]
    assert "zorro" in words and not any("SIMULATED" in word for word in words)
    single = load_results([tmp_path / f"{system}/listening/records.jsonl" for system in ALL[:2]])
    assert next(p for p in catalogue.CATALOGUE if p.name == "listening_tests").draw(single, "2020") is not None


def test_simulated_results_never_replace_those_of_people(answered, tmp_path):
    found = analyse(answered, tmp_path, Options(resamples=0))
    write_runs(found, tmp_path)
    object.__setattr__(found.test.settings, "simulated", True)
    try:
        with pytest.raises(InputError, match="real listeners"):
            write_runs(found, tmp_path)
    finally:
        object.__setattr__(found.test.settings, "simulated", False)


def test_records_of_a_run_are_collected_like_all_others(answered, tmp_path):
    paths = write_runs(analyse(answered, tmp_path, Options(resamples=0)), tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [f"{s}/listening/records.jsonl" for s in ALL]
    assert all(record.system == "zorro" for record in read_records(paths[1]))
    plan = SimpleNamespace(run=tmp_path / "zorro", run_of=lambda system: tmp_path / system)
    collected = _listened(plan)
    assert {record.system for record in collected} == {"original", "zorro"}
    assert all((plan.run / record.files["listening"]).is_file() for record in collected)
    scores = json.loads((tmp_path / "zorro/listening/scores.json").read_text())
    assert len(scores["groups"]["naturalness"]["toy_test_trials_f f"]) == 28
    distances = json.loads((tmp_path / "original/listening/scores.json").read_text())["distances"]
    assert 0 <= np.mean(distances["same"]) < np.mean(distances["different"])


def handed_in(test, listener, answers):
    token = next(t for t, n in test.tokens().items() if n == listener)
    rows = [
        {"page": a.page, "task": a.task, "value": a.value, "seconds": a.seconds, "plays": a.plays, "time": 1}
        for a in answers
        if a.listener == listener
    ]
    return {"format": 1, "token": token, "consent": test.settings.consent, "answers": rows}


def test_files_of_listeners_without_a_server_are_checked_like_answers_to_one(data, tmp_path):
    test = toy_test(data, tmp_path / "test", without_server=True)
    answers = simulate_answers(test, APART, Spread(), 0)
    folder = test.path / "answers"
    content = handed_in(test, 0, answers)
    (folder / "one.json").write_text(json.dumps(content))
    (folder / "copy.json").write_text(json.dumps(content))
    assert len(read_responses(test).answers) == len(content["answers"])

    def refused(change, message):
        wrong = json.loads(json.dumps(content))
        change(wrong)
        (folder / "wrong.json").write_text(json.dumps(wrong))
        with pytest.raises(InputError, match=message):
            read_responses(test)
        (folder / "wrong.json").unlink()

    refused(lambda c: c.update(token="x"), "not in this test")
    refused(lambda c: c.update(consent=""), "not agreed")
    refused(lambda c: c.pop("answers"), "was not saved by the page")
    refused(lambda c: c["answers"][0].update(value=99), "invalid answer of listener 1: the answer must be")
    refused(lambda c: c["answers"][0].update(page="x"), "not in your session")
    refused(
        lambda c: c["answers"][5].update(value=c["answers"][5]["value"] % 10 + 1),
        "second, different answer of listener 1",
    )
    (folder / "text.json").write_text("hello")
    with pytest.raises(InputError, match=r"text\.json: was not saved"):
        read_responses(test)


def test_a_test_without_answers_is_not_analysed(data, tmp_path):
    test = toy_test(data, tmp_path / "test")
    with pytest.raises(InputError, match="no answers yet"):
        analyse(load_test(test.path), tmp_path, Options())
