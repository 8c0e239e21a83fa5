import io
import json
import os
import re
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from in_process import call
from toy_submission import ORIGINALS, SCORES, make, members, rewrite, violations

from vpeval.core.models import find_model, missing_files
from vpeval.submission.archive import is_safe, read_wave


def test_the_archive_holds_results_scores_audio_and_a_manifest(submission_dir):
    done = make("s.tar.gz", "--seed", "7", "--note", "anon_level=spk")
    assert done.returncode == 0, done.stderr
    files = members()
    assert files["mine/results/results.txt"].startswith(b"ASV-toy_dev_enrolls-toy_dev_trials_f\n  EER: 0%\n")
    assert files[f"mine/scores/{SCORES}/scores"].startswith(b"a a-1 1.0\na a-2 1.0\na b-1 0.0\n")
    wave = "mine/data/toy_dev_enrolls_mine/wav/a-1.wav"
    assert files[wave] == Path("data/toy_dev_enrolls_mine/wav/a-1.wav").read_bytes()
    scp = files["mine/data/toy_dev_enrolls_mine/wav.scp"]
    assert scp.startswith(b"a-1 data/toy_dev_enrolls_mine/wav/a-1.wav\n")
    manifest = json.loads(files["mine/manifest.json"])
    assert manifest["seeds"] == {"base": 7, "intervals": ["3"]}
    assert (manifest["edition"], manifest["system"], manifest["recipes"]) == ("2020", "mine", ["toy"])
    assert manifest["more"] == {"anon_level": "spk"}
    assert {"vpeval", "python", "numpy"} <= manifest["versions"].keys()
    assert manifest["files"].keys() == {name.removeprefix("mine/") for name in files} - {"manifest.json"}


def test_the_same_inputs_give_the_same_bytes_whatever_their_times(submission_dir):
    assert make("a.tar.gz").returncode == 0
    for path in Path("data").rglob("*.wav"):
        os.utime(path, (1e9, 1e9))
    os.utime("runs/mine/results.jsonl", (1e9, 1e9))
    assert make("other/b.tar.gz").returncode == 0
    assert Path("a.tar.gz").read_bytes() == Path("other/b.tar.gz").read_bytes()
    with tarfile.open("a.tar.gz") as archive:
        assert {(m.mtime, m.uid, m.gid, m.uname, m.mode) for m in archive} == {(0, 0, 0, "", 0o644)}


def test_a_good_archive_has_no_violations(submission_dir):
    make()
    done = call("check_submission.py", "--recompute", "0", "s.tar.gz", *map(str, ORIGINALS))
    assert (done.returncode, done.stderr) == (3, "")
    numbers = "EER (Kaldi) 0 %, min Cllr 0 bit, Cllr 0.726 bit, EER (ROCCH) 0 %"
    for condition in ("oo", "aa"):
        assert f"recomputed: toy_dev_trials_f {condition}: {numbers}\n" in done.stdout
    assert "recomputed: toy_dev_asr a: WER 4.17 %\n" in done.stdout
    assert "compared: data/toy_dev_enrolls_mine: 6 utterances by length, level and spectrum, utt2spk\n" in done.stdout
    assert "not verified: scores: not made again from the audio (--recompute N)\n" in done.stdout
    assert "not verified: data/toy_dev_enrolls_mine/wav: what is said was not compared, as all" in done.stdout
    end = "accepted, 5 points not verified; 10 numbers recomputed, 2 sets compared with their originals\n"
    assert done.stdout.endswith(f"s.tar.gz: {end}"), done.stdout


def test_scores_that_were_made_up_are_refused_by_default_where_the_model_is_there(submission_dir):
    make()
    done = call("check_submission.py", "s.tar.gz", *map(str, ORIGINALS))
    if missing_files(find_model("ecapa_voxceleb")):
        assert done.returncode == 3
        assert (
            f"not verified: scores/{SCORES}/scores: not made again from the audio (model ecapa_voxceleb" in done.stdout
        )
    else:
        assert done.returncode == 1
        assert "8 of 8 scores are not those of the audio" in done.stderr
        assert re.search(r"s.tar.gz: refused: \d+ violations\n\Z", done.stdout)


def test_a_command_that_cannot_be_carried_out_is_no_refusal(submission_dir):
    make()
    for words in (["--recipe", "nowhere", "s.tar.gz"], ["--unknown"], ["s.tar.gz", "data/nowhere"]):
        done = call("check_submission.py", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr


def test_without_the_originals_nothing_is_approved(submission_dir):
    make()
    assert violations() == []
    done = call("check_submission.py", "s.tar.gz")
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.endswith("nothing wrong in itself, but not checked: give the original data directories\n")


def test_audio_of_another_kind_is_converted(submission_dir):
    path = Path("data/toy_dev_enrolls_mine")
    wave, rate = sf.read(path / "wav/a-1.wav")
    sf.write(path / "wav/a-1.flac", wave, rate)
    scp = (path / "wav.scp").read_text().replace("a-1.wav", "a-1.flac")
    (path / "wav.scp").write_text(scp)
    assert make().returncode == 0
    packed, _ = sf.read(io.BytesIO(members()["mine/data/toy_dev_enrolls_mine/wav/a-1.wav"]))
    assert np.abs(packed - wave).max() < 1e-4
    assert violations() == []


@pytest.mark.parametrize("edition", ["2022", "2024", "2026"])
def test_every_edition_has_its_results_files(submission_dir, edition):
    assert make("s.tar.gz", "--edition", edition).returncode == 0
    results = {name.removeprefix("mine/results/") for name in members() if "/results/" in name}
    assert results == {"2022": {"results.txt", "results_summary.txt"}}.get(edition, {"result_for_rank"})
    ranked = "results_summary.txt" if edition == "2022" else "result_for_rank"
    lacking = f"results/{ranked}: lacks the EER of ASV_eval_anon of toy_dev_trials_f in condition aa"
    assert violations() == [("requirement", lacking)], "nobody was trained on speech of the system"


def drop(name):
    return lambda files: files.pop(name)


def put(name, content):
    return lambda files: files.update({name: content})


def wav(rate=16000, channels=1, subtype="PCM_16"):
    buffer = io.BytesIO()
    sf.write(buffer, np.zeros((100, channels)), rate, subtype=subtype, format="WAV")
    return buffer.getvalue()


WAVE = "mine/data/toy_dev_trials_f_mine/wav/b-2.wav"


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (drop(WAVE), "missing utterance", "data/toy_dev_trials_f_mine/wav: lacks 1 of the 6 utterances of data/"),
        (drop(WAVE), "missing file", "wav/b-2.wav: is in the manifest but not in the archive"),
        (put(WAVE, wav(8000)), "audio", "b-2.wav: has a sampling rate of 8000 Hz"),
        (put(WAVE, wav(channels=2)), "audio", "b-2.wav: has 2 channels"),
        (put(WAVE, wav(subtype="FLOAT")), "audio", "b-2.wav: has 32-bit samples of coding 3, not 16-bit PCM"),
        (put(WAVE, wav()[:-10]), "audio", "b-2.wav: is cut off: 190 of 200 bytes"),
        (put(WAVE, b"hello"), "audio", "b-2.wav: is no WAV file"),
        (put(WAVE, b""), "size", "b-2.wav: is empty"),
        (put(WAVE, wav()), "manifest", "b-2.wav: was changed after packing"),
        (put("mine/data/toy_dev_trials_f_mine/wav/x-9.wav", wav()), "ids", "wav: has 1 utterances that data/"),
        (put("mine/extra", b"x\n"), "manifest", "extra: is not in the manifest"),
        (put("mine/extra", b"\xff\xfe"), "encoding", "extra: is not UTF-8 text"),
        (put("../evil", b"x"), "unsafe path", "member '../evil' has an unsafe name"),
        (put("/etc/evil", b"x"), "unsafe path", "member '/etc/evil' has an unsafe name"),
        (put("mine/a\nb", b"x"), "unsafe path", r"member 'mine/a\nb' has an unsafe name"),
        (put("other/file", b"x"), "layout", "has several directories at its top (mine, other)"),
        (drop("mine/results/results.txt"), "missing file", "results/results.txt: is missing"),
        (put("mine/results/results.txt", b"ASR-x_asr\n"), "results", "results.txt: cannot be read: 1: block"),
        (put("mine/manifest.json", b"{}"), "manifest", "manifest.json: is no manifest"),
        (drop("mine/manifest.json"), "manifest", "manifest.json: is missing"),
        (drop("mine/system_description.md"), "missing file", "system_description.md: is missing"),
        (drop("mine/data/toy_dev_trials_f_mine/utt2spk"), "missing file", "utt2spk: is missing"),
        (put("mine/data/toy_dev_enrolls_mine/utt2spk", b"a-1\n"), "number of fields", "1 lines do not have 2 fields"),
        (put(f"mine/scores/{SCORES}/scores", b"a a-1 nan\n"), "scores", "score 'nan' is no finite number"),
        (put(f"mine/scores/{SCORES}/scores", b"a a-1 1\n"), "scores", "lacks 17 of 18 trials (a a-2, a b-1"),
        (put(f"mine/scores/{SCORES}/scores", b"a z-1 1\n"), "ids", "scores 1 pairs that are no trials (a z-1)"),
    ],
)
def test_every_violation_is_found_and_named(submission_dir, change, kind, message):
    make()
    rewrite(change)
    found = violations(*ORIGINALS)
    assert any(k == kind and message in text for k, text in found), found


def test_a_results_file_of_other_scores_is_found_out(submission_dir):
    make()
    text = members()["mine/results/results.txt"].replace(b"EER: 0%", b"EER: 33.33%", 1)
    rewrite(put("mine/results/results.txt", text))
    assert any("the results say an EER of 33.33 %, the scores give 0 %" in message for _, message in violations())


def test_links_are_not_followed(submission_dir):
    make()
    link = tarfile.TarInfo("mine/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    rewrite(lambda files: files.update({link: b""}))
    assert ("unsafe path", "link: is a link or a device, not a file") in violations()


def test_a_set_that_is_missing_altogether_is_named(submission_dir):
    make()
    rewrite(lambda files: [files.pop(name) for name in list(files) if "toy_dev_enrolls_mine" in name])
    assert ("missing set", "data: no anonymised 'toy_dev_enrolls'") in violations(*ORIGINALS)


def test_an_archive_cut_anywhere_is_answered_with_violations(submission_dir):
    make()
    content = Path("s.tar.gz").read_bytes()
    for n in range(0, len(content), len(content) // 15):
        Path("s.tar.gz").write_bytes(content[:n])
        assert violations()


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\3\4", b"\x1f\x8b\x08\0\0\0\0\0"])
def test_a_foreign_file_is_no_archive(submission_dir, content):
    Path("s.tar.gz").write_bytes(content)
    done = call("check_submission.py", "s.tar.gz")
    assert done.returncode == 1
    assert "s.tar.gz: is no whole tar archive" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda: shutil.rmtree("data/toy_dev_enrolls_mine"), "data/toy_dev_enrolls_mine"),
        (lambda: shutil.rmtree(f"runs/mine/{SCORES}"), f"runs/mine/{SCORES}/scores: no such scores; run stage 6 again"),
        (
            lambda: Path("data/toy_dev_enrolls_mine/wav/a-1.wav").unlink(),
            "data/toy_dev_enrolls_mine/wav/a-1.wav: no such",
        ),
        (lambda: Path("runs/mine/results.jsonl").unlink(), "runs/mine/results.jsonl: no such file"),
    ],
)
def test_an_incomplete_run_is_one_line_and_no_archive(submission_dir, spoil, message):
    spoil()
    done = make()
    assert done.returncode == 1
    assert done.stderr.startswith(f"make_submission.py: {message}")
    assert done.stderr.count("\n") == 1
    assert not Path("s.tar.gz").exists()


@pytest.mark.parametrize("name", ["a/../b", "/a", "a//b", "a\\b", "a b", "./a", "..", "", "a\0", "C:/x"])
def test_unsafe_names(name):
    assert not is_safe(name)


def test_a_wave_file_may_have_other_chunks_before_its_samples():
    good = wav()
    assert read_wave(good)[0] == ""
    assert read_wave(good[:12] + b"LIST\x04\0\0\0abcd" + good[12:])[0] == ""
    assert read_wave(good[:20])[0] == "has no samples"
