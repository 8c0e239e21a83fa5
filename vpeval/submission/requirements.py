"""What an edition asks of a submission beyond its form: which numbers, and what the description must tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vpeval.records.names import ASV_EVAL, ASV_EVAL_ANON, SetName
from vpeval.records.record import Record
from vpeval.results.editions import EDITIONS
from vpeval.submission.archive import Archive
from vpeval.submission.data import Sets
from vpeval.submission.layout import DESCRIPTION
from vpeval.submission.numbers import Evidence

KIND = "requirement"
"""The kind of violations by what is lacking; all others are by what is wrong."""

_RANKED = {"2024": ((ASV_EVAL, "oo"), (ASV_EVAL_ANON, "aa")), "2026": ((ASV_EVAL, "aa"), (ASV_EVAL_ANON, "aa"))}
_LEAST_WORDS = 20
_LARGEST = 1 << 20

_TOPICS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "Team, members, affiliation, contact": (r"team|author|affiliat|contact", tuple(EDITIONS)),
    "Anonymisation method, step by step": (r"method|anonymi[sz]|approach|system", tuple(EDITIONS)),
    "Training data and pretrained models, with their sources": (
        r"train\w*\W+(?:\w+\W+){0,3}?(?:data|set|corp|on)|pre-?trained|no training|not trained|untrained",
        tuple(EDITIONS),
    ),
    "Level of anonymisation (speaker or utterance) and how pseudo-speakers are chosen": (
        r"(?:speaker|utterance)\W*level|pseudo\W*speaker|per (?:speaker|utterance)",
        ("2022", "2024", "2026"),
    ),
    "Anything that differs between enrolment, trial and training data": ("", ()),
    "Computing time and hardware": ("", ()),
    "What was tuned on the development data": ("", ()),
}
"""Points of the form: what a description without the form must mention, and the editions that demand it."""


def form(system: str, recipe: str, edition: str, seed: int) -> str:
    """The system description, to be filled in."""
    points = "".join(f"- {topic}:\n" for topic in _TOPICS)
    return (
        f"# System description: {system}\n\nTo be filled in by the participants. What the challenges ask for:\n\n"
        f"{points}\nResults: see `results/`. Recipe `{recipe}`, edition {edition}, base seed {seed}.\n"
    )


def check_description(archive: Archive, edition: str) -> None:
    """Note what the description does not tell: an empty one, and the form as it is packed, tell nothing."""
    if DESCRIPTION not in archive.digests:
        archive.complain(DESCRIPTION, "is missing", "describe the system", "missing file")
        return
    text = archive.text(DESCRIPTION, _LARGEST)
    if text is None:
        return
    told, answers = _without_form(text)
    if len(re.findall(r"\w+", told)) < _LEAST_WORDS:
        archive.complain(DESCRIPTION, "describes nothing", _remedy(), KIND)
        return
    for topic, (words, editions) in _TOPICS.items():
        if edition in editions and not answers.get(topic) and not re.search(words, told, re.IGNORECASE):
            message = f"does not tell what edition {edition} asks for: {topic[0].lower()}{topic[1:]}"
            archive.complain(DESCRIPTION, message, _remedy(), KIND)


def _remedy() -> str:
    return "fill it in and pack it (run.sh --stage 12 --description FILE)"


def _without_form(text: str) -> tuple[str, dict[str, str]]:
    """What a person wrote, and the answers to points of the form."""
    answers: dict[str, str] = {}
    own: list[str] = []
    topic = ""
    for line in text.splitlines():
        found = next((name for name in _TOPICS if line.lstrip("-*# ").startswith(name)), "")
        if found:
            topic, line = found, line.lstrip("-*# ").removeprefix(found).lstrip(":")
        elif re.match(r"# System description:|To be filled in|Results: see", line):
            topic, line = "", ""
        if line.strip():
            own.append(line)
            answers[topic] = f"{answers.get(topic, '')} {line}".strip()
    return "\n".join(own), answers


def check_completeness(
    archive: Archive,
    edition: str,
    results: Mapping[str, Sequence[Record]],
    evidence: Evidence,
    sets: Sets,
    shown: Mapping[str, str],
) -> None:
    """Note what the results lack: numbers of trials, words and emotions of the sets that were given."""
    trial_sets = [name for name in sets.names if _has(archive, sets, name, "trials")]
    for file in EDITIONS.get(edition, ()):
        if f"results/{file}" in results:
            records = results[f"results/{file}"]
            _check_file(archive, file, edition, records, evidence, trial_sets, shown)
    for name, path in sets.originals.items():
        parts = SetName.parse(name)
        if path in evidence.recognised:
            continue
        if (path / "text").is_file() and parts and parts.role in ("trials", "asr"):
            message = f"edition {edition} requires word error rates, and there are no transcripts of {name}"
            archive.complain("text", message, "recognise it (stage 10) and pack again", KIND)
        if edition in ("2024", "2026") and (path / "utt2emo").is_file():
            message = f"edition {edition} requires the UAR of emotions, and there are no predictions of {name}"
            archive.complain("emotions", message, "recognise emotions (stage 10) and pack again", KIND)


def _check_file(
    archive: Archive,
    file: str,
    edition: str,
    records: Sequence[Record],
    evidence: Evidence,
    trial_sets: Sequence[str],
    shown: Mapping[str, str],
) -> None:
    """Note which numbers one results file lacks."""
    have = {(r.attacker, r.set, r.condition) for r in records if r.metric.startswith("eer")}
    for trials in trial_sets:
        for attacker, condition in _wanted(file, edition, trials, evidence, shown):
            if not any((name, trials, condition) in have for name in {attacker, ""}):
                message = f"lacks the EER{f' of {attacker}' if attacker else ''} of {trials} in condition {condition}"
                archive.complain(f"results/{file}", message, "measure it (stages 4 to 6) and pack again", KIND)
    for metric, found in (("wer", evidence.words), ("uar", evidence.emotions if file == "result_for_rank" else {})):
        rates = {(record.set, record.condition) for record in records if record.metric == metric}
        for name, side in sorted({(name, side) for name, side, _ in found} - rates):
            message = f"lacks the {metric.upper()} of {name} {side}, though what it is made of was packed"
            archive.complain(f"results/{file}", message, "write the results again", KIND)


def _wanted(
    file: str, edition: str, trials: str, evidence: Evidence, shown: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Attackers and conditions that a file must have of a set of trials."""
    if file == "result_for_rank":
        yield from _RANKED[edition]
    elif file == "results_summary.txt":
        yield from ((ASV_EVAL, "oo"), (ASV_EVAL_ANON, "aa"))
    else:
        own = [one for one in evidence.attacks if (one.attacker, one.trials) == (shown.get("attacker"), trials)]
        yield from (("", condition) for condition in sorted({"oo", "aa", *(one.condition for one in own)}))


def _has(archive: Archive, sets: Sets, name: str, file: str) -> bool:
    if sets.originals:
        return Path(sets.originals[name], file).is_file()
    return any(f"data/{folder}/{file}" in archive.texts for folder, base in sets.folders.items() if base == name)
