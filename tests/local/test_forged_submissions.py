"""The organiser's shield: what somebody did to look better is refused or not verified, and the reason is said."""

import gzip
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from in_process import call
from toy_challenge import (
    EDITIONS,
    ENROLLS,
    TRIALS,
    Run,
    found,
    make_challenge,
    manifest,
    samples,
    sign,
    wave,
    without_recognisers,
)
from toy_submission import DESCRIPTION, ORIGINALS, forge, make, members, violations

from vpeval.audio.io import read_audio
from vpeval.submission.check import ACCEPTED, REFUSED, UNDECIDED

TOP = "mcadams"
RNG = np.random.default_rng(4)


@pytest.fixture(scope="module")
def challenge(tmp_path_factory):
    return make_challenge(tmp_path_factory.mktemp("challenge"))


HONEST = Run()


@dataclass(frozen=True)
class Forgery:
    """What was done to the package of an edition, and the reason that must be said.

    `change` gets the files and the challenge. `run` made the numbers. `trials` are scored again; by default nothing is.
    """

    name: str
    reason: str
    change: Callable = lambda files, challenge: None
    edition: str = "2020"
    run: Run = HONEST
    trials: int = 0
    named: bool = True
    outcome: str = REFUSED


def audio(make_samples):
    """A change of all audio: `make_samples` gets samples, those of the original, and the number of the file."""

    def change(files, challenge):
        number = 0
        for name in sorted(files):
            if name.endswith(".wav"):
                source = challenge.path / name.replace(f"_{TOP}/", "/").removeprefix(f"{TOP}/")
                original = np.rint(read_audio(str(source)) * 32768)
                files[name] = wave(make_samples(samples(files[name]), original, number))
                number += 1

    return change


def moved(order, of=TOP):
    """A change that gives every trial utterance the audio of another one; `order` gets their number."""

    def change(files, challenge):
        names = sorted(name for name in files if name.endswith(".wav") and TRIALS in name)
        contents = [files[name] for name in names]
        if of == "original":
            contents = [
                (challenge.path / n.replace(f"_{TOP}/", "/").removeprefix(f"{TOP}/")).read_bytes() for n in names
            ]
        files.update(zip(names, [contents[place] for place in order(len(names))], strict=True))

    return change


def enrolment_as_trials(files, challenge):
    enrolled = sorted(name for name in files if name.endswith(".wav") and ENROLLS in name)
    trials = sorted(name for name in files if name.endswith(".wav") and TRIALS in name)
    contents = [files[enrolled[number % len(enrolled)]] for number in range(len(trials))]
    files.update((name, wave(samples(content) * 0.9)) for name, content in zip(trials, contents, strict=True))


def of_other_system(files, challenge):
    """Audio of a system that protects better, under the scores of one that does not."""
    other = challenge.package("2024", "other")
    files.update((name, other[name.replace("mcadams", "other")]) for name in files if name.endswith(".wav"))


def edit(name, pattern, text, count=1):
    def change(files, challenge):
        before = files[f"{TOP}/{name}"].decode()
        files[f"{TOP}/{name}"] = re.sub(pattern, text, before, count=count, flags=re.MULTILINE).encode()
        assert files[f"{TOP}/{name}"].decode() != before

    return change


def drop(part):
    def change(files, challenge):
        gone = [name for name in files if part in name]
        assert gone
        for name in gone:
            del files[name]

    return change


def renamed(old, new, keep=False):
    def change(files, challenge):
        for name in [name for name in files if old in name]:
            files[name.replace(old, new)] = files[name] if keep else files.pop(name)

    return change


def both(*changes):
    def change(files, challenge):
        for one in changes:
            one(files, challenge)

    return change


def put(name, content):
    return lambda files, challenge: files.update({f"{TOP}/{name}": content})


def says(change):
    return lambda files, challenge: manifest(files, change)


def shows(**roles):
    return says(lambda content: content["shown"].update(roles))


def added(edition, run, parts):
    """Also the evidence of another run, whose results replace those of the honest one."""

    def change(files, challenge):
        for name, content in challenge.package(edition, run=run).items():
            if "/results/" in name or any(part in name for part in parts):
                files[name] = content

    return change


def dummy_scores(files, challenge):
    for name in files:
        if "/scores/" in name:
            rows = [line.rpartition(" ")[0] for line in files[name].decode().splitlines()]
            numbers = np.random.default_rng(1).normal(size=len(rows))
            files[name] = "".join(f"{row} {one:.6f}\n" for row, one in zip(rows, numbers, strict=True)).encode()


PERFECT = Run(recogniser="fake", perfect=True)
WEAK = Run(names=(("listener", "weak"), ("learner", "")))
SWAPPED = Run(names=(("listener", "learner"), ("learner", "listener")))
RENAMED = Run(change="random", conditions=("aa",), names=(("learner", "learner2"),))
SCORES = f"scores/ASV_listener-{ENROLLS}_{TOP}-{TRIALS}_{TOP}"
RANK = "results/result_for_rank"
ITSELF = "utterances are their originals, but for gain, sign, delay or direction in time (f0"
OTHERS = "utterances are no nearer to their originals than to others (f0"
REPEATED = "utterances sound nearly the same as another one (f0"
NOT_OF_AUDIO = "scores are not those of the audio (f0"
FORGERIES = [
    # Audio that has nothing to do with the scores, which stay honest; nothing is made again.
    Forgery("the originals", f"20 of 20 {ITSELF}", audio(lambda s, o, n: o)),
    Forgery("the originals, of 2022", f"25 of 25 {ITSELF}", audio(lambda s, o, n: o), "2022"),
    Forgery("the originals, of 2024", f"25 of 25 {ITSELF}", audio(lambda s, o, n: o), "2024"),
    Forgery("the originals, of 2026", f"25 of 25 {ITSELF}", audio(lambda s, o, n: o), "2026"),
    Forgery("the originals, shifted by a sample", ITSELF, audio(lambda s, o, n: np.r_[0, o[:-1]])),
    Forgery("the originals, a tenth of a second late", ITSELF, audio(lambda s, o, n: np.r_[np.zeros(1600), o]), "2022"),
    Forgery("the originals, softer", ITSELF, audio(lambda s, o, n: 0.97 * o), "2024"),
    Forgery("the originals, reversed", ITSELF, audio(lambda s, o, n: o[::-1]), "2026"),
    Forgery("the originals, negated", ITSELF, audio(lambda s, o, n: -o)),
    Forgery("the originals with an offset", ITSELF, audio(lambda s, o, n: o + 900), "2022"),
    Forgery("the originals in faint noise", ITSELF, audio(lambda s, o, n: o + o.std() / 30 * RNG.normal(size=len(o)))),
    Forgery("every third original", f"of 25 {ITSELF}", audio(lambda s, o, n: s if n % 3 else o), "2024"),
    Forgery("one original", f"1 of 20 {ITSELF}", audio(lambda s, o, n: s if n else o), outcome=ACCEPTED),
    Forgery("white noise", OTHERS, audio(lambda s, o, n: 2000 * RNG.normal(size=len(s)))),
    Forgery("white noise, of 2024", OTHERS, audio(lambda s, o, n: o.std() * RNG.normal(size=len(s))), "2024"),
    Forgery("an impulse", OTHERS, audio(lambda s, o, n: 32000.0 * (np.arange(len(s)) == 4000 + 99 * n)), "2022"),
    Forgery("a tone", OTHERS, audio(lambda s, o, n: 4000 * np.sin(np.arange(len(s)) * (0.1 + 0.01 * n))), "2026"),
    Forgery("shuffled utterances", OTHERS, moved(lambda count: np.random.default_rng(1).permutation(count))),
    Forgery("utterances of the next speaker", OTHERS, moved(lambda count: np.roll(np.arange(count), 5)), "2022"),
    Forgery(
        "utterances of the same speaker",
        OTHERS,
        moved(lambda count: np.arange(count) // 5 * 5 + (np.arange(count) + 1) % 5),
        "2024",
        outcome=ACCEPTED,
    ),
    Forgery(
        "shuffled originals",
        OTHERS,
        moved(lambda count: np.random.default_rng(1).permutation(count), "original"),
        "2026",
    ),
    Forgery("enrolment as trials", OTHERS, enrolment_as_trials),
    Forgery(
        "one utterance for all",
        "24 utterances have the samples of another one",
        moved(lambda count: np.zeros(count, int)),
    ),
    Forgery(
        "one utterance for all, each as loud as it likes",
        REPEATED,
        both(moved(lambda count: np.zeros(count, int)), audio(lambda s, o, n: s * (0.5 + n / 50))),
        "2024",
    ),
    Forgery(
        "one utterance for all, each in other noise",
        REPEATED,
        both(
            moved(lambda count: np.zeros(count, int)),
            audio(lambda s, o, n: s + s.std() / 300 * RNG.normal(size=len(s))),
        ),
        "2022",
    ),
    Forgery(
        "one sample of silence", "lasts 6.25e-05 s, the original 1.5 s", audio(lambda s, o, n: np.zeros(1)), "2024"
    ),
    Forgery("silence", "is silent, the original is not", audio(lambda s, o, n: 0 * s)),
    Forgery("a constant", "is silent, the original is not", audio(lambda s, o, n: 0 * s + 9000), "2026"),
    Forgery("a whisper", "dB quieter than the original", audio(lambda s, o, n: s / 500), "2022"),
    Forgery("a third of the speech", "wav: lasts", audio(lambda s, o, n: s[: len(s) // 3])),
    # Scores.
    Forgery("dummy scores", "the results say an EER of", dummy_scores),
    Forgery("dummy scores, of 2026", "the results say a EER (threshold) of", dummy_scores, "2026"),
    Forgery(
        "scores that are all the same",
        "scores are 1, which no attacker gives",
        edit(f"{SCORES}/scores", r" \S+$", " 1", 0),
    ),
    Forgery(
        "trials left out", "lacks 1 of 125 trials (f001 f001-005)", edit(f"{SCORES}/scores", r"\A.*\n", ""), "2022"
    ),
    Forgery("scores left out", "no scores of attacker 'listener' give this number", drop(SCORES)),
    Forgery(
        "scores under another name", "names no pair of sets of this submission", renamed(SCORES, "scores/ASV_x-y-z")
    ),
    Forgery(
        "scores of other pairs",
        f"compares {TRIALS} with {TRIALS}, which recipe toy does not",
        renamed(SCORES, f"scores/ASV_listener-{TRIALS}_{TOP}-{TRIALS}_{TOP}", keep=True),
    ),
    Forgery("made-up scores and results", NOT_OF_AUDIO, run=Run("random", ("aa",)), trials=6),
    Forgery("made-up scores, of 2024", NOT_OF_AUDIO, edition="2024", run=Run("random", ("aa",)), trials=6),
    Forgery(
        "made-up scores of original speech", NOT_OF_AUDIO, edition="2026", run=Run("random", ("oo", "oa")), trials=6
    ),
    Forgery("scores of other trials", NOT_OF_AUDIO, edition="2022", run=Run("shuffled"), trials=6),
    Forgery(
        "a manifest that says calibrated",
        NOT_OF_AUDIO,
        says(lambda content: content.update(more={"calibrate": "true"})),
        run=Run("random"),
        trials=6,
    ),
    Forgery("an outlier that hides all others", "has 1e+09, its audio gives", run=Run("outlier"), trials=6),
    Forgery("an outlier, of 2024", NOT_OF_AUDIO, edition="2024", run=Run("outlier"), trials=6),
    Forgery("scores on another scale", "is not that of a calibration", edition="2022", run=Run("scaled"), trials=6),
    Forgery("scores with an offset", "is not that of a calibration", run=Run("moved"), trials=6),
    Forgery("audio of a better system", NOT_OF_AUDIO, of_other_system, "2024", trials=6),
    # Attackers.
    Forgery(
        "a weak attacker only", "results are those of attacker 'weak', and recipe toy ranks by 'listener'", run=WEAK
    ),
    Forgery(
        "a weak attacker in the place of the trained one",
        "as the attacker that was trained on anonymised speech",
        shows(attacker="weak"),
        "2022",
    ),
    Forgery(
        "a weak attacker, of a recipe that was only found",
        "ranks by 'listener'",
        run=WEAK,
        named=False,
        outcome=ACCEPTED,
    ),
    Forgery(
        "exchanged names", "'learner' was trained on anonymised speech, and has scores in condition oo", run=SWAPPED
    ),
    Forgery(
        "exchanged names, of 2024", "was trained on anonymised speech, and has scores", edition="2024", run=SWAPPED
    ),
    Forgery(
        "exchanged roles",
        "shows 'listener' as the attacker that was trained on anonymised",
        shows(attacker="listener", asv_eval="learner"),
        "2026",
    ),
    Forgery(
        "another trained attacker beside the ranked one",
        "ranks by 'learner', whose scores are there",
        both(added("2024", RENAMED, ["learner2"]), shows(attacker="learner2")),
        "2024",
    ),
    Forgery("an unknown attacker", "there is no attacker 'blind' in", run=Run(names=(("listener", "blind"),))),
    Forgery(
        "an attacker that was configured otherwise",
        "manifest.json: 'listener' was configured otherwise than in",
        says(lambda content: content["configurations"]["attackers"].update(listener="0" * 64)),
    ),
    Forgery(
        "attackers without digests",
        "manifest.json: does not say how its attackers were configured",
        says(lambda content: content.pop("configurations")),
        outcome=ACCEPTED,
    ),
    # Transcripts and emotions.
    Forgery("a second recogniser", "there is no recogniser 'fake' in", added("2020", PERFECT, ["ASR_fake"])),
    Forgery(
        "a second recogniser, of 2022", "there is no recogniser 'fake' in", added("2022", PERFECT, ["ASR_fake"]), "2022"
    ),
    Forgery(
        "a second recogniser, of 2024", "there is no recogniser 'fake' in", added("2024", PERFECT, ["ASR_fake"]), "2024"
    ),
    Forgery(
        "a second recogniser that is known",
        "the results say WER 0.00 % of toy_dev_asr a, the transcripts give",
        added("2026", Run(recogniser="other", perfect=True), ["ASR_other"]),
        "2026",
    ),
    Forgery(
        "a second recogniser that was trained",
        "does not show the WER of toy_dev_asr a by tiny, which counts",
        added("2020", Run(recogniser="ctc", perfect=True), ["ASR_ctc"]),
    ),
    Forgery("another recogniser", "recognised by other, and tiny counts", run=Run(recogniser="other", perfect=True)),
    Forgery(
        "another recogniser, of a recipe that was only found",
        "recognised by other, and tiny counts",
        run=Run(recogniser="other"),
        named=False,
        outcome=ACCEPTED,
    ),
    Forgery(
        "utterances left out of the transcripts",
        "the results say WER",
        edit(f"text/ASR_tiny-toy_dev_asr_{TOP}/text", r"\A.*\n", ""),
        "2024",
    ),
    Forgery(
        "transcripts left out", "WER of toy_dev_asr a: no transcripts give this number", drop(f"toy_dev_asr_{TOP}/text")
    ),
    Forgery(
        "easier text rules",
        "words are counted by the text rules vpc2024, and vpc2020 are demanded",
        shows(text_rules="vpc2024"),
        "2024",
    ),
    Forgery(
        "emotions of a second recogniser",
        "there is no recogniser 'fake' in",
        added("2024", Run(emotions="fake", perfect=True), ["UAR_fake"]),
        "2024",
    ),
    Forgery(
        "emotions of one that is known",
        "the results say UAR 100",
        added("2026", Run(emotions="other", perfect=True), ["UAR_other"]),
        "2026",
    ),
    Forgery(
        "emotions left out",
        "UAR of toy_dev a: no predictions give this number",
        drop(f"toy_dev_{TOP}/predictions"),
        "2024",
    ),
    # Labels, results, and the rest.
    Forgery(
        "altered labels",
        "trials: 1 lines that",
        edit(f"data/{TRIALS}_{TOP}/trials", "f002-006 nontarget", "f002-006 target"),
    ),
    Forgery(
        "altered speakers",
        "utt2spk: 1 lines of",
        edit(f"data/{ENROLLS}_{TOP}/utt2spk", r"\Af001-001 f001", "f001-001 f002"),
        "2022",
    ),
    Forgery("altered references", "text: 1 lines that", edit(f"data/{TRIALS}_{TOP}/text", "the", "a"), "2024"),
    Forgery("altered emotions", "utt2emo: 1 lines that", edit(f"data/{TRIALS}_{TOP}/utt2emo", "ang", "sad"), "2026"),
    Forgery(
        "a better EER",
        "the results say an EER of 49.99 %, the scores give",
        edit("results/results.txt", r"EER: [\d.]+%", "EER: 49.99%"),
    ),
    Forgery(
        "a better Cllr",
        "the results say a Cllr of 0.999 bit",
        edit("results/results.txt", r"act\): (.*)/.*", r"act): \1/0.999"),
        "2022",
    ),
    Forgery(
        "a better average",
        "the average does not follow",
        edit("results/results_summary.txt", r"(EER dev anon): .*", r"\1: 49.000"),
        "2022",
    ),
    Forgery(
        "a better EER, of 2024", "the results say a EER", edit(RANK, r"(anon +anon +)\d+\.\d+", r"\g<1>49.990"), "2024"
    ),
    Forgery(
        "a better EER, of 2026", "the results say a EER", edit(RANK, r"(anon +anon +)\d+\.\d+", r"\g<1>49.990"), "2026"
    ),
    Forgery(
        "a better error rate",
        "the results say WER 0.10 %",
        edit(RANK, r"(ASR results(?:.*\n)+?.*dev +anon +)\d+\.\d+", r"\g<1>0.100"),
        "2024",
    ),
    Forgery(
        "the file of an easier edition",
        "result_for_rank: is missing",
        edition="2022",
        outcome="2024",
    ),
    Forgery(
        "results of nobody",
        "'mini_dev_trialsnontarget_m' is no name of a set",
        put("results/results.txt", b"mini_dev_trialsnontarget_m\n  De-Identification : 1\n"),
    ),
    Forgery(
        "another system in the manifest",
        "names the system 'another'",
        says(lambda content: content.update(system="another")),
    ),
    Forgery(
        "a second file of an utterance",
        "has several files of 'f001-005'",
        put(f"data/{TRIALS}_{TOP}/wav/more/f001-005.wav", wave(np.arange(9000))),
    ),
    Forgery("no description", "describes nothing", put("system_description.md", b"\n"), "2026"),
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_a_forgery_is_refused_or_not_verified_with_the_reason(challenge, forgery):
    files = challenge.package(forgery.edition, run=forgery.run)
    forgery.change(files, challenge)
    sign(files)
    edition, outcome = (forgery.outcome, REFUSED) if forgery.outcome in EDITIONS else (forgery.edition, forgery.outcome)
    verdict = challenge.judge(files, without_recognisers(challenge.organiser(edition, forgery.trials, forgery.named)))
    said = found(verdict)
    assert any(forgery.reason in line for line in said), said
    assert verdict.outcome == outcome, said
    assert not any("was changed after packing" in line for line in said)


def test_there_are_at_least_60_forgeries_of_four_editions():
    names = [forgery.name for forgery in FORGERIES]
    assert len(set(names)) == len(names) >= 60
    assert {forgery.edition for forgery in FORGERIES} == set(EDITIONS)


@pytest.mark.parametrize(
    ("edition", "system", "run"),
    [
        *((edition, "mcadams", Run()) for edition in EDITIONS),
        ("2024", "other", Run()),
        ("2022", "mcadams", Run(change="calibrated")),
    ],
)
def test_an_honest_package_is_accepted(challenge, edition, system, run):
    files = challenge.package(edition, system, run)
    for trials in (0, 6):
        verdict = challenge.judge(files, without_recognisers(challenge.organiser(edition, trials)))
        assert verdict.outcome == ACCEPTED and not verdict.problems, found(verdict)
        assert len(verdict.rescored) == (4 if trials else 0)
        assert all("recognised again" in line or "made again" in line for line in verdict.unverified)
    assert challenge.judge(files, challenge.organiser(edition), []).outcome == UNDECIDED


def test_what_the_package_itself_says_is_not_verified(challenge):
    verdict = challenge.judge(challenge.package("2024"), challenge.organiser(named=False))
    assert "edition 2024: the package says so; say --edition, and --recipe with toy" in verdict.unverified
    (challenge.path / "egs/toy2").mkdir()
    text = (challenge.path / "egs/toy/recipe.conf").read_text()
    (challenge.path / "egs/toy2/recipe.conf").write_text(text.replace("recipe=toy", "recipe=toy2"))
    verdict = challenge.judge(challenge.package("2020"), challenge.organiser("2020", named=False))
    assert any("others have these sets, too; say --recipe with toy or toy2" in line for line in verdict.unverified)
    (challenge.path / "egs/toy2/recipe.conf").unlink()


def test_what_was_only_signed_again_is_approved(submission_dir):
    make()
    forge(lambda files: None)
    assert violations(*ORIGINALS) == []


@pytest.mark.parametrize(
    ("edition", "description", "missing"),
    [
        ("2024", None, ["describes nothing"]),
        ("2022", DESCRIPTION.replace("(utterance level)", ""), ["level of anonymisation (speaker or utterance)"]),
        (
            "2020",
            DESCRIPTION.partition("There are")[0] + "Its code is on the web, and free for all. " * 3,
            ["training data and pretrained"],
        ),
        ("2020", DESCRIPTION, []),
    ],
)
def test_what_a_description_lacks_for_its_edition_is_listed(submission_dir, edition, description, missing):
    if description is None:
        call("make_submission.py", "--edition", edition, "runs/mine", "s.tar.gz", *map(str, ORIGINALS))
    else:
        Path("description.md").write_text(description)
        make("s.tar.gz", "--edition", edition)
    said = [message for _, message in violations(*ORIGINALS) if "description" in message]
    assert len(said) == len(missing) and all(part in line for part, line in zip(missing, said, strict=True))


def test_an_empty_description_is_refused_before_it_is_packed(submission_dir):
    Path("empty.md").write_text(" \n")
    done = make("s.tar.gz", "--description", "empty.md")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("make_submission.py: empty.md: is empty; describe the system")


def test_attackers_and_recognisers_are_listed_separately(submission_dir):
    make()
    manifest = json.loads(members()["mine/manifest.json"])
    assert (manifest["attackers"], manifest["recognisers"]) == (["ecapa"], ["whisper_base"])
    assert manifest["shown"] == {"attacker": "ecapa"}


def header(name, size, kind=tarfile.REGTYPE):
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


def bombs(folder):
    """Archives that are small and hold, or say that they hold, very much."""
    zeros = bytes(1 << 20)

    def write(name, *parts):
        with gzip.open(folder / name, "wb", compresslevel=1) as file:
            for part, times in parts:
                for _ in range(times):
                    file.write(part)
        return folder / name

    yield write("content", (header("mine/x.wav", 4 << 30), 1), (zeros, 80)), "holds more than"
    yield write("text", (header("mine/x", 200 << 20), 1), (zeros, 80)), "holds more than"
    yield write("pax", (header("x", 5 << 30, tarfile.XHDTYPE), 1), (zeros, 80)), "has a header of 5368709120 bytes"
    yield write("long name", (header("x", 1 << 30, tarfile.GNUTYPE_LONGNAME), 1), (zeros, 9)), "has a header of"
    yield write("headers", (header("x", 0, tarfile.XHDTYPE), 1000)), "more than 20 headers"
    yield write("sparse", (header("mine/x", 512, tarfile.GNUTYPE_SPARSE), 1), (zeros, 1)), "is a link or a device"
    yield write("end", (header("mine/x", 0), 1), (bytes(1024), 1), (zeros, 80)), "holds more than"
    yield write("rest", (header("mine/x", 0), 1), (bytes(1024), 1), (b"more", 1)), "goes on after the end"
    members = b"".join(header(f"mine/{'x' * 80}{number}", 0) for number in range(1000))
    yield write("members", (members, 3)), "is there twice"
    nested = b'{"files": ' + b"[" * 20_000_000
    yield write("manifest", (header("mine/manifest.json", len(nested)), 1), (nested, 1)), "is no"


_CHECK = """
import re, sys
from pathlib import Path
from vpeval.submission.check import check
for path in sys.argv[1:]:
    for problem in check(path).problems:
        print(f"{path}: {problem.message}")
# Its own peak: getrusage also counts the process that it was forked from.
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1024)
"""


def test_no_archive_takes_much_memory(tmp_path):
    expected = dict(bombs(tmp_path))
    done = subprocess.run([sys.executable, "-c", _CHECK, *expected], capture_output=True, text=True, check=True)
    *said, peak = done.stdout.splitlines()
    for path, reason in expected.items():
        assert any(line.startswith(f"{path}: ") and reason in line for line in said), (path, said)
    assert int(peak) < 500, f"{peak} MB"
