import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from toy_runs import make_runs, run_script, write_audio

from vpeval.core.errors import InputError
from vpeval.figures.run_results import Entry, Results, load_results
from vpeval.jobs.progress import Usage, write_usage
from vpeval.measures.audit import Finding, read_findings, write_findings
from vpeval.records.record import Record
from vpeval.report import audio_samples, legal_criteria
from vpeval.report.legal_criteria import UseCase
from vpeval.report.page import Context, build, inline_svg
from vpeval.results import summary
from vpeval.results.worst import key_numbers

VOID = {"meta", "link", "br", "input", "wbr"}


class Outline(HTMLParser):
    """Collects ids, links and addresses of a page, and insists on closed elements."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.addresses, self.rows, self.text = [], [], [], 0, []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.rows += tag == "tr"
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "action", "poster"):
                self.addresses.append(value)

    def handle_startendtag(self, tag, attrs):
        """Of an SVG: nothing to close."""

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def outline(page):
    found = Outline()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


@pytest.fixture(scope="module")
def page(toy):
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    return build(results, Context(toy / "figures", "./run.sh --anonymizer toy", "Toy data."))


def test_the_page_is_whole_and_loads_nothing(page):
    found = outline(page)
    assert len(found.ids) == len(set(found.ids))
    assert all(address.startswith(("#", "data:")) for address in found.addresses)
    assert not re.search(r"@import|url\((?!#)", page)
    for address in found.addresses:
        if address.startswith("#"):
            assert address[1:] in found.ids


def test_every_number_is_a_row_with_interval_and_chance(page, toy):
    n = sum(len(path.read_text().splitlines()) for path in toy.glob("runs/*/*/records.jsonl"))
    body = page[page.index('id="all-numbers"') :]
    body = body[: body.index("</table>")]
    assert body.count("<tr") == n + 1
    row = next(row for row in body.split("<tr") if "EER (Kaldi)" in row and "lazy-informed" in row)
    assert "15.00\N{NO-BREAK SPACE}%" in row
    assert "13.00 – 17.00" in row
    assert ">50.00<" in row
    assert "24 targets, 120 nontargets, 6 speakers" in row
    dsys = next(row for row in body.split("<tr") if ">D_sys<" in row)
    assert "≈ 0.050" in dsys


def test_the_page_says_which_eer_is_which(page):
    for words in ("EER (Kaldi)", "EER (threshold)", "EER (ROCCH)", "the EER of VoicePrivacy 2020 and 2022"):
        assert words in page


def test_verdict_note_command_and_hashes_are_there(page):
    text = " ".join(outline(page).text).replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "toy protects the speakers hardly or weakly against the lazy-informed attacker: 6 speakers cannot tell." in text
    )
    for words in ("Toy data.", "./run.sh --anonymizer toy", "SHA-256", "100 resamples"):
        assert words in text


def test_the_legal_part_maps_the_three_criteria_and_says_what_was_not_tested(page):
    part = page[page.index('id="legal"') : page.index('id="numbers"')].replace("\N{NO-BREAK SPACE}", " ")
    assert part.count("<article") == 3
    assert "Linkability among 6 speakers, ignorant (Ignorant in the framework)" in part
    assert "60.0 % [50.0, 70.0]" in part
    assert "Not tested: no attack on attributes" in part
    assert "An attacker trained on speech of the same system" in part
    assert "More than 6 speakers." in part


def test_the_page_is_the_same_on_every_run(page, toy):
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    assert build(results, Context(toy / "figures", "./run.sh --anonymizer toy", "Toy data.")) == page


def test_transcripts_are_escaped(page):
    assert "Hello &lt;world&gt;" in page
    assert "<world>" not in page.lower()


def test_all_names_and_notes_of_others_are_escaped(toy):
    evil = "<img src=x onerror=alert(1)>&\"'"
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    entries = [
        replace(e, record=replace(e.record, system=evil if e.record.system == "toy" else e.record.system,
                                  recipe=evil, set=evil, attacker=evil, params={**e.record.params, evil: evil},
                                  notes={**e.record.notes, "tag": evil}, counts={evil: 3}))
        for e in results.entries
    ]  # fmt: skip
    page = build(Results(entries, results.tables, results.data), Context(toy / "figures", evil, evil))
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;&amp;&#34;&#39;" in page
    outline(page)


def test_names_of_figures_that_were_drawn_stay_markup_and_their_titles_text(toy):
    assert "<svg" in inline_svg((toy / "figures/eer.svg").read_text(), "eer", "a < b")
    assert 'aria-label="a &lt; b"' in inline_svg((toy / "figures/eer.svg").read_text(), "eer", "a < b")


@pytest.mark.parametrize(
    ("edition", "title", "value"), [("2020", "EER (Kaldi)", "15.00"), ("2024", "EER (threshold)", "25.00")]
)
def test_the_page_shows_and_names_the_eer_of_its_edition(toy, edition, title, value):
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    page = build(results, Context(toy / "figures", edition=edition)).replace("\N{NO-BREAK SPACE}", " ")
    verdict = page[page.index('id="verdict"') : page.index('id="legal"')]
    assert f'<span class="label">{title}</span>' in verdict
    assert re.search(rf"in {value} % \[[0-9., ]+\] of the cases: {re.escape(title)}, mean over 2 test sets", verdict)
    assert f"{title}, the EER of VoicePrivacy {edition}, of every system" in page
    assert f"This page shows {title}, the EER of VoicePrivacy {edition}." in page


def test_a_page_without_the_eer_of_its_edition_has_a_caveat(toy):
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    entries = [entry for entry in results.entries if entry.record.metric != "eer_threshold"]
    page = build(Results(entries, results.tables, results.data), Context(toy / "figures", edition="2024"))
    assert "The results have no EER (threshold), which is the EER of VoicePrivacy 2024. This page shows" in page


def test_the_key_numbers_include_the_published_baselines_of_the_corpus(toy):
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    entries = [replace(e, record=replace(e.record, recipe="vpc2022")) for e in results.entries]
    page = build(Results(entries, results.tables, results.data), Context(toy / "figures", edition="2022"))
    table = page[page.index('id="key-numbers"') :]
    table, below = table[: table.index("</table>")], table[table.index("</table>") :]
    assert table.count("<small>published</small>") == 4
    first = table[table.index("EER (Kaldi)") :]
    assert re.findall(r"<b>([^<]*)</b>", first)[:6] == ["4.00", "15.00", "3.79", "11.81", "9.18", "7.77"]
    assert "against its semi-informed attacker" in below
    assert "RESULTS_summary_* of Voice-Privacy-Challenge-2022" in below
    assert "published" not in build(results, Context(toy / "figures", edition="2022"))


def test_tiles_table_and_terminal_show_the_same_numbers_with_the_same_digits(page, toy):
    records = [e.record for e in load_results([toy / "runs/original", toy / "runs/toy"], toy / "data").entries]
    terminal = summary.render(records)
    for number in key_numbers(records, ["original", "toy"], "2020"):
        for record in number.of.values():
            shown = number.metric.show(record.value)
            assert re.search(rf"^.*{re.escape(number.metric.label)}.* {re.escape(shown)}\b", terminal, re.MULTILINE)
            assert f"<b>{shown.replace('-', '−')}</b>" in page
    tiles = re.findall(r'class="value">([0-9.]+)\N{NO-BREAK SPACE}?', page)
    assert tiles == ["15.00", "60.0", "50.00", "60.0", "10.00"]


def test_figures_that_were_not_drawn_are_named(page):
    assert 'id="figure-eer"' in page
    assert 'id="figure-det"' not in page
    assert "Figures without data:" in page


def test_an_inline_figure_has_ids_of_its_own_and_colours_of_the_page(toy):
    svg = inline_svg((toy / "figures/eer.svg").read_text(), "eer", "Equal error rate")
    assert svg.startswith('<svg role="img" aria-label="Equal error rate" style="max-width: 0.9rem" viewBox="0 0 9 9"')
    assert 'id="eer-p1"' in svg
    assert "url(#eer-p1)" in svg
    assert "fill: var(--c1c2128)" in svg


def test_samples_come_from_different_sets_and_keep_to_the_limit(toy):
    sets = ["toy_test_trials_f", "toy_test_trials_m"]
    samples = audio_samples.choose_utterances(toy / "data", sets, ["toy"], count=3, limit=10**6)
    assert [sample.utt for sample in samples] == ["f0-1", "m0-1", "f1-1"]
    assert samples[0].original.startswith("data:audio/flac;base64,")
    assert samples[0].original != samples[0].anonymised["toy"]
    size = len(samples[0].original) + len(samples[0].anonymised["toy"])
    assert len(audio_samples.choose_utterances(toy / "data", sets, ["toy"], count=3, limit=size)) == 1
    assert audio_samples.choose_utterances(toy / "data", sets, ["other"], count=3, limit=10**6) == []


def test_above_chance_is_judged_by_the_interval(toy):
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    singling, linking, inference = legal_criteria.criteria(results, "toy")
    assert [outcome.above_chance for outcome in singling.outcomes] == [False, True]
    assert all(outcome.above_chance for outcome in linking.outcomes)
    assert inference.outcomes == ()


def test_time_and_memory_of_the_stages_are_shown(tmp_path):
    make_runs(tmp_path)
    run = next(iter(sorted(tmp_path.glob("**/results.jsonl")))).parent
    write_usage(run, [Usage(5, "embeddings", 75.2, 130.0, 812.4)])
    page = build(load_results([run / "results.jsonl"]), Context(tmp_path / "figures"))
    assert f"Stage of {run.name}" in page
    for words in ("5 embeddings", "1:15", "2:10", "812 MB"):
        assert words in page


def test_the_findings_of_an_audit_are_shown(toy, tmp_path):
    check = {"check": "enrolment", "flagged": True, "sentence": "Enrolment <was> not anonymised."}
    runs = make_runs(tmp_path)
    (runs[1] / "audit.json").write_text(json.dumps([check]))
    page = build(load_results(runs, tmp_path / "data"), Context(tmp_path / "figures"))
    assert "The attacker was not audited" not in page
    top = page[page.index('id="verdict"') : page.index('class="tiles"')]
    assert (
        "hardly or weakly against the lazy-informed attacker: 6 speakers cannot tell; the audit of the attackers has warnings."
        in top
    )
    for part in (top, page[page.index('id="attacker"') :]):
        assert "Enrolment &lt;was&gt; not anonymised." in part


def test_an_audit_with_another_eer_than_that_of_the_page_is_noted(tmp_path):
    runs = make_runs(tmp_path)
    write_findings(runs[1] / "audit.json", [Finding("a", False, "Fine.", {"metric": "eer_kaldi"})])
    results = load_results(runs, tmp_path / "data")
    words = "The audit uses EER (Kaldi), but this page shows EER (threshold)"
    assert words in build(results, Context(tmp_path / "figures", edition="2024"))
    assert "The audit uses" not in build(results, Context(tmp_path / "figures", edition="2022"))


def test_an_audit_that_finds_nothing_and_a_missing_one_look_different(toy, tmp_path):
    runs = make_runs(tmp_path)
    results = load_results(runs, tmp_path / "data")
    unaudited = build(results, Context(tmp_path / "figures"))
    top = unaudited[unaudited.index('id="verdict"') : unaudited.index('class="tiles"')]
    assert 'The attackers were not <a href="#attacker">audited</a>' in top
    (runs[1] / "audit.json").write_text('[{"check": "a", "flagged": false, "sentence": "Far from guessing."}]')
    audited = build(results, Context(tmp_path / "figures"))
    top = audited[audited.index('id="verdict"') : audited.index('class="tiles"')]
    assert "caveat" not in top and "audit" not in top
    assert "Far from guessing." in audited


@pytest.mark.parametrize("content", ["{", "3", '{"checks": 1}', '[{"check": "a", "flagged": true}]', "[[]]"])
def test_a_broken_audit_is_an_error(tmp_path, content):
    (tmp_path / "audit.json").write_text(content)
    with pytest.raises(InputError, match=r"audit\.json: .*run local/audit_attacker\.py again|Run local"):
        read_findings(tmp_path / "audit.json")


def test_the_script_writes_the_page_beside_its_figures(tmp_path):
    runs = make_runs(tmp_path)
    for trials in tmp_path.glob("data/*/trials"):
        trials.unlink()
    write_audio(tmp_path)
    code, printed, _ = run_script("make_report.py", *runs, "runs/toy/report.html", cwd=tmp_path)
    assert code == 0
    assert printed.startswith("runs/toy/report.html: report of ")
    assert outline((tmp_path / "runs/toy/report.html").read_text(encoding="utf-8")).rows > 50


def test_the_script_leaves_nothing_behind_on_a_mistake(tmp_path):
    runs = make_runs(tmp_path)
    (runs[1] / "audit.json").write_text("{")
    code, _, complaint = run_script("make_report.py", *runs, "out/report.html", cwd=tmp_path)
    assert code == 1
    assert complaint.startswith("make_report.py: ") and complaint.count("\n") == 1
    assert not (tmp_path / "out").exists()


def legal_results(toy, *more):
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    entries = [Entry(record.tagged({"system": "toy", "condition": "aa"}), toy, "semi-informed") for record in more]
    return replace(results, entries=[*results.entries, *entries])


def inferred(attribute="gender", bits=0.4, lower=0.1):
    params = {"attribute": attribute, "L": 1, "classes": 2}
    return [
        Record("inference_bits", bits, lower, 0.7, params, notes={"chance": 0.0, "entropy": 1.0}),
        Record("inference_accuracy", 0.8, 0.7, 0.9, params, notes={"chance": 0.5}),
    ]


def test_inference_names_the_measured_and_the_other_attributes(toy):
    *_, inference = legal_criteria.criteria(legal_results(toy, *inferred()), "toy")
    assert inference.kind == "above"
    (outcome,) = inference.outcomes
    assert outcome.attack.startswith("gender, semi-informed")
    assert outcome.numbers == (
        ("1 utterance", "0.40 bit [0.10, 0.70] of 1.00; balanced accuracy 80.0 % [70.0, 90.0]", "chance 50.0 %"),
    )
    assert "age, accent" in inference.unmeasured[0]
    assert "sex" not in inference.unmeasured[0]


def test_side_information_is_part_of_its_criterion(toy):
    params = {"N": 6, "L": 1, "side": "gender", "groups": 2}
    sided = Record("linkability_side", 0.9, 0.8, 1.0, params, notes={"chance": 0.3, "candidates": 3.4})
    _, linking, _ = legal_criteria.criteria(legal_results(toy, sided), "toy")
    assert any("(gender, 2 groups, leaves 3.4 of 6 speakers)" in outcome.attack for outcome in linking.outcomes)


def risks_of(toy, case, *more):
    return legal_criteria.criteria(legal_results(toy, *more), "toy", case)


def test_a_use_case_is_measured_extrapolated_or_not_known(toy):
    _, linking, _ = risks_of(toy, UseCase(4, 3))
    (risk,) = linking.risks
    assert (risk.kind, risk.number.split()[0]) == ("measured", "60.0")
    _, linking, _ = risks_of(toy, UseCase(500, 1))
    assert (linking.risks[0].kind, linking.risks[0].number) == ("not known", "")
    notes = {"chance": 0.002, "factor": 83.3, "held_out_factor": 1.5, "held_out_error": 0.021}
    beyond = Record("linkability_extrapolated", 0.3, 0.1, 0.5, {"N": 500, "L": 1, "from": 6}, notes=notes)
    _, linking, _ = risks_of(toy, UseCase(500, 1), beyond)
    assert linking.risks[0].kind == "extrapolated"
    assert "Extrapolated from 6 speakers to 83.3 times as many; not measured." in linking.risks[0].remark
    assert "off by +2.1 points" in linking.risks[0].remark
    error = Record("linkability_extrapolation_error", 0.2, params={"N": 6, "L": 1, "from": 4}, notes={"holds": False})
    _, linking, _ = risks_of(toy, UseCase(500, 1), error)
    assert "Not extrapolated: the extrapolation to the largest measured number (6) is off by +20.0 points." in (
        linking.risks[0].remark
    )


def test_a_use_case_with_more_speech_than_was_measured_has_a_remark(toy):
    _, linking, inference = risks_of(toy, UseCase(6, 30), *inferred())
    assert "speakers have fewer than 30. More speech discloses more." in linking.risks[0].remark
    assert inference.risks[0].what == "Information about gender, semi-informed"


def test_the_page_calls_nothing_anonymous(toy):
    context = Context(toy / "figures", case=UseCase(500, 1))
    page = build(legal_results(toy, *inferred()), context)
    assert "anonymous" not in page.lower()
    assert "Residual risk of the use case" in page


@pytest.mark.parametrize(
    "more",
    [
        "<script>alert(1)</script>",
        '<g onload="x()"/>',
        '<a href="x">',
        '<use href="javascript:x()"/>',
        "<foreignObject/>",
        '<rect/onclick="x"/>',
    ],
)
def test_a_figure_with_active_content_is_refused(toy, more):
    svg = (toy / "figures/eer.svg").read_text()
    assert inline_svg(svg.replace("</svg>", "<text>once = 1, &lt;script&gt;</text></svg>"), "eer", "x")
    with pytest.raises(InputError, match="contains more than a drawing"):
        inline_svg(svg.replace("</svg>", f"{more}</svg>"), "eer", "x")


def test_the_worst_case_of_every_legal_criterion_stands_at_the_top_with_its_limits(page, toy):
    top = page[page.index('class="worst-cases"') :].replace("\N{NO-BREAK SPACE}", " ")
    top = top[: top.index("</table>")]
    rows = re.findall(r'<tr class="(\w+)"><th scope="row">([^<]*)', top)
    assert rows == [("above", "Singling out"), ("above", "Linkability"), ("untested", "Inference")]
    assert top.count("60.0 % [50.0, 70.0]") == 2
    assert "6 speakers, 1 utterance" in top
    assert "chance 16.7 %" in top and "of this protocol" in top
    assert "19.2 % <small>for “strongly” in conf/verdict.yaml, our choice" in top
    assert page.index('id="legal"') < page.index('id="numbers"') < page.index('id="figures"')


def test_the_worst_case_is_the_most_successful_attack_with_any_amount_of_speech(toy):
    params = {"N": 6, "L": "all"}
    long = Record("linkability", 0.7, 0.6, 0.9, params, notes={"chance": 1 / 6})
    few = Record("linkability", 1.0, 0.9, 1.0, {"N": 4, "L": "all"}, notes={"chance": 1 / 4})
    known = {**params, "side": "gender", "groups": 2}
    sided = Record("linkability_side", 0.71, 0.6, 0.9, known, notes={"chance": 0.6, "candidates": 3})
    trivial = Record("singling_out", 0.9, 0.8, 0.95, params, notes={"chance": 0.35, "paper_chance": 0.368})
    results = legal_results(toy, long, few, sided, trivial, *inferred())
    found = legal_criteria.criteria(results, "toy")
    singling, linking, inference = legal_criteria.worst_cases(results, "toy", found, Context(toy).limits)
    assert (linking.number, linking.size) == ("70.0 % [60.0, 90.0]", "6 speakers, all utterances")
    assert singling.limits == (
        ("chance 35.0 %", "of this protocol (docs/metrics.md)"),
        ("36.8 %", "trivial attacker of Vauquier et al., 2025"),
    )
    assert (inference.attacker, inference.measure) == ("semi-informed", "Inference, balanced accuracy, gender")
    assert inference.limits[0][0] == "chance 50.0 %"
    top = build(results, Context(toy / "figures"))
    assert "The semi-informed attacker (Informed in the legal framework) learnt the attributes from speech" in top


def test_what_was_left_out_is_said_below_the_verdict(toy):
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    first, *others = results.entries
    noted = replace(first, record=first.record.with_notes({"left_out": "ecapa (--without)"}))
    page = build(replace(results, entries=[noted, *others]), Context(toy / "figures"))
    top = page[page.index('id="verdict"') : page.index('id="legal"')]
    assert '<p class="caveat">left out: original: ecapa (--without)</p>' in top
