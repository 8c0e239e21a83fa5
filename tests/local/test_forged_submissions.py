"""The organiser's shield: what somebody did to look better is refused, and the reason is said."""

import gzip
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from in_process import call
from toy_submission import DESCRIPTION, ORIGINALS, SCORES, forge, make, members, violations

AUDIO = "mine/data/toy_dev_trials_f_mine/wav/"
RESULTS = "mine/results/results.txt"
TRIALS = Path("data/toy_dev_trials_f/trials")


def wave(samples):
    buffer = io.BytesIO()
    sf.write(buffer, np.asarray(samples, np.int16), 16000, subtype="PCM_16", format="WAV")
    return buffer.getvalue()


def every_wave(make_content):
    """A change that puts something else in the place of all audio."""

    def change(files):
        for name in files:
            if name.endswith(".wav"):
                samples, _ = sf.read(io.BytesIO(files[name]), dtype="int16")
                files[name] = make_content(samples)

    return change


def text(name, edit):
    def change(files):
        before = files[name].decode()
        files[name] = edit(before).encode()
        assert files[name].decode() != before

    return change


def dummy_scores(files):
    """All EERs become 49.99 %, and scores that say nothing go with them."""
    rng = np.random.default_rng(1)
    rows = [line.rpartition(" ")[0] for line in TRIALS.read_text().splitlines()]
    for name in files:
        if "/scores/" in name:
            files[name] = "".join(
                f"{row} {score:.6f}\n" for row, score in zip(rows, rng.normal(size=18), strict=True)
            ).encode()
    files[RESULTS] = files[RESULTS].replace(b"EER: 0%", b"EER: 49.99%")


def other_system(files):
    dummy_scores(files)
    manifest = json.loads(files["mine/manifest.json"])
    files["mine/manifest.json"] = json.dumps({**manifest, "system": "another"}).encode()


def another_attacker(files):
    """Scores of an attacker that nobody knows give whatever is wanted."""
    rows = [line.rpartition(" ")[0] for line in TRIALS.read_text().splitlines()]
    weak = "".join(f"{row} {number % 7}\n" for number, row in enumerate(rows)).encode()
    for name in [name for name in files if "/scores/" in name]:
        files[name.replace("ASV_ecapa", "ASV_blind")] = weak
    manifest = json.loads(files["mine/manifest.json"])
    files["mine/manifest.json"] = json.dumps({**manifest, "shown": {"attacker": "blind"}}).encode()


def fewer_words(files):
    """A hard utterance is left out of the transcripts."""
    name = "mine/text/ASR_tiny-toy_dev_asr_mine/text"
    files[name] = files[name].split(b"\n", 1)[1]
    files[RESULTS] = files[RESULTS].replace(
        b"%WER 4.17 [ 1 / 24, 0 ins, 0 del, 1 sub ]", b"%WER 0.00 [ 0 / 20, 0 ins, 0 del, 0 sub ]"
    )


def without(part):
    def change(files):
        blocks = files[RESULTS].decode().replace("\nAS", "\n\nAS").split("\n\n")
        assert len(blocks) == 4
        files[RESULTS] = ("\n".join(block for block in blocks if part not in block).rstrip("\n") + "\n").encode()

    return change


FORGERIES = {
    "EERs of 49.99 % with dummy scores": (dummy_scores, "the results say an EER of 49.99 %, the scores give"),
    "another system in the manifest": (
        other_system,
        "names the system 'another', the directory of the submission is 'mine'",
    ),
    "dummy scores under another system": (other_system, "the results say an EER of 49.99 %, the scores give"),
    "scores that are all the same": (
        lambda files: [files.update({n: files[n].replace(b"1.0", b"0.0")}) for n in files if "/scores/" in n],
        "all 18 scores are 0, which no attacker gives",
    ),
    "an attacker that nobody knows": (another_attacker, "there is no attacker 'blind' in"),
    "one sample of silence": (every_wave(lambda _: wave([0])), "a-1.wav: lasts 6.25e-05 s, the original 0.05 s"),
    "silence": (every_wave(lambda s: wave(0 * s)), "a-1.wav: is silent, the original is not"),
    "a constant": (every_wave(lambda s: wave(0 * s + 9000)), "a-1.wav: is silent, the original is not"),
    "a whisper": (every_wave(lambda s: wave(s // 256)), "a-1.wav: is 48 dB quieter than the original"),
    "half of the speech": (every_wave(lambda s: wave(s[: len(s) // 3])), "wav: lasts 0.1 s in all, the original 0.3 s"),
    "one file for all": (
        every_wave(lambda s: wave(np.arange(800) * 20)),
        "5 utterances have the samples of another one (a-2,",
    ),
    "altered labels": (
        text("mine/data/toy_dev_trials_f_mine/trials", lambda t: t.replace("b-1 nontarget", "b-1 target", 1)),
        "trials: 1 lines that data/toy_dev_trials_f/trials has not: a b-1 target",
    ),
    "altered speakers": (
        text("mine/data/toy_dev_enrolls_mine/utt2spk", lambda t: t.replace("a-1 a", "a-1 b")),
        "utt2spk: 1 lines of data/toy_dev_enrolls/utt2spk are not there: a-1 a",
    ),
    "altered references": (
        text("mine/data/toy_dev_trials_f_mine/text", lambda t: t.replace("four", "for", 1)),
        "text: 1 lines that data/toy_dev_trials_f/text has not: a-1 one two three for",
    ),
    "trials left out": (
        text(f"mine/scores/{SCORES}/scores", lambda t: t.split("\n", 3)[3]),
        "lacks 3 of 18 trials (a a-1, a a-2, a b-1)",
    ),
    "utterances left out of the transcripts": (
        fewer_words,
        "the results say WER 0.00 % of toy_dev_asr a, the transcripts give 16.67 %",
    ),
    "results of original speech left out": (
        without("-toy_dev_trials_f\n"),
        "lacks the EER of toy_dev_trials_f in condition oo",
    ),
    "results of anonymised speech left out": (
        without("trials_f_anon"),
        "lacks the EER of toy_dev_trials_f in condition aa",
    ),
    "word error rates left out": (
        without("toy_dev_asr_anon"),
        "lacks the WER of toy_dev_asr a, though what it is made of",
    ),
    "scores left out": (
        lambda files: files.pop(f"mine/scores/{SCORES}/scores"),
        "EER (Kaldi) of toy_dev_trials_f aa: no scores of attacker 'ecapa' give this number",
    ),
    "transcripts left out": (
        lambda files: files.pop("mine/text/ASR_tiny-toy_dev_asr_mine/text"),
        "WER of toy_dev_asr a: no transcripts give this number",
    ),
    "a better Cllr": (
        text(RESULTS, lambda t: t.replace("0.726", "0.999")),
        "the results say a Cllr of 0.999 bit, the scores give",
    ),
    "scores under another name": (
        lambda files: files.update({"mine/scores/ASV_x-y-z/scores": files.pop(f"mine/scores/{SCORES}/scores")}),
        "scores/ASV_x-y-z: names no pair of sets of this submission",
    ),
    "a second file of an utterance": (
        lambda files: files.update({f"{AUDIO}more/a-1.wav": wave(np.arange(800))}),
        "wav: has several files of 'a-1'",
    ),
    "no description": (
        lambda files: files.update({"mine/system_description.md": b"\n"}),
        "description.md: describes nothing",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused_with_the_reason(submission_dir, name):
    assert make().returncode == 0
    change, reason = FORGERIES[name]
    forge(change)
    done = call("check_submission.py", "s.tar.gz", *map(str, ORIGINALS))
    assert done.returncode == 1
    assert reason in done.stderr
    assert "approved" not in done.stdout and "was changed after packing" not in done.stderr


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
    assert (manifest["attackers"], manifest["recognisers"]) == (["ecapa"], ["tiny"])
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
