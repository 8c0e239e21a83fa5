"""Training and decoding with a network so small that it learns nothing, but does everything."""

import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from vpeval.audio.io import write_wave
from vpeval.jobs.shards import Shards

ROOT = Path(__file__).parents[2]
CONF = """\
mels: 20
channels: 16
blocks: 1
kernel: 3
stride: 3
dropout: 0.1
epochs: 3
batch: 2
rate: 0.01
warm_up: 0.2
"""

pytestmark = pytest.mark.e2e


def run(*line, **environment):
    done = subprocess.run(
        list(map(str, line)), cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A configuration and a data directory of five short noises; the audio of the third comes through a pipe."""
    work = tmp_path_factory.mktemp("asr")
    (work / "conf.yaml").write_text(CONF)
    data = work / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    utts = [f"s{i % 2}-{i}" for i in range(5)]
    for utt in utts:
        write_wave(work / f"{utt}.wav", 0.1 * rng.normal(size=12000))
    utts.sort()
    # Until the flag is there, reading the third utterance kills the job that reads it. The pipes name neither the flag
    # nor the audio, which would be inputs, and come and go here.
    # It is read ahead, and so waits until the results of the first two are there.
    (work / "read.sh").write_text(
        f'if [ "$1" = {utts[2]} ] && [ ! -e {work}/flag ]; then\n'
        f'  until [ "$(ls {work}/out/.data.work/parts | wc -l)" -ge 2 ]; do sleep 0.05; done\n'
        f'  kill -9 "$2"\nfi\ncat "{work}/$1.wav"\n'
    )
    (data / "wav.scp").write_text("".join(f"{utt} bash {work}/read.sh {utt} $PPID |\n" for utt in utts))
    for name, values in {"utt2spk": [u[:2] for u in utts], "text": ["GOOD DAY", "DAY", "GOOD", "A DAY", "BAD"]}.items():
        (data / name).write_text("".join(f"{u} {v}\n" for u, v in zip(utts, values, strict=True)))
    (data / "utt2dur").write_text("".join(f"{u} 0.75\n" for u in utts))
    return work


@pytest.fixture(scope="module")
def recognizer(work):
    (work / "flag").touch()
    code, output = run("steps/train_asr.sh", work / "conf.yaml", work / "asr/whole", work / "data")
    assert code == 0, output
    return work / "asr/whole"


def test_an_interrupted_training_ends_in_the_same_weights(work, recognizer):
    import torch

    from vpeval.asr import ctc_training

    torch.set_num_threads(1)  # as in the training that was not interrupted
    settings = ctc_training.Settings.read(work / "conf.yaml")
    utterances = ctc_training.read_utterances([work / "data"])

    class Stop(Exception):
        pass

    finish = ctc_training._Training.on_stage_end

    def stop_after_two(self, stage, loss, epoch):
        finish(self, stage, loss, epoch)
        if epoch == 2:
            raise Stop

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr(ctc_training._Training, "on_stage_end", stop_after_two)
        ctc_training.train(settings, utterances, 0, work / "checkpoints", work / "resumed")
    ctc_training.train(settings, utterances, 0, work / "checkpoints", work / "resumed")
    for name in ("encoder.ckpt", "tokenizer.ckpt", "hyperparams.yaml"):
        both = [hashlib.sha256((where / name).read_bytes()).hexdigest() for where in (recognizer, work / "resumed")]
        assert both[0] == both[1]


def test_a_finished_training_is_not_repeated(work, recognizer):
    before = (recognizer / "encoder.ckpt").stat().st_mtime_ns
    code, output = run("steps/train_asr.sh", work / "conf.yaml", recognizer, work / "data")
    assert code == 0, output
    assert (recognizer / "encoder.ckpt").stat().st_mtime_ns == before


def test_decoding_that_was_killed_does_only_what_is_missing(work, recognizer, monkeypatch):
    monkeypatch.setenv("VPEVAL_PIECE_SECONDS", "0")
    (work / "flag").unlink()
    assert run("steps/make_lm.py", work / "lm.arpa", work / "data/text")[0] == 0
    line = (
        "steps/decode.py",
        "--nj",
        1,
        "--lm",
        work / "lm.arpa",
        recognizer / "decode.yaml",
        work / "out",
        work / "data",
    )
    assert run(*line)[0] == 1
    done = Shards(work / "out/.data.work/parts").scan()
    assert done == {"s0-0", "s0-2"}

    (work / "flag").touch()
    # What is there must not be needed again.
    for utt in done:
        (work / f"{utt}.wav").rename(work / f"{utt}.away")
    code, output = run(*line)
    for utt in done:
        (work / f"{utt}.away").rename(work / f"{utt}.wav")
    assert code == 0, output
    assert "going on, 2 of 5 utterances are there" in output
    text, nbest = ((work / "out/data" / name).read_text().splitlines() for name in ("text", "nbest"))
    assert [row.split()[0] for row in text] == ["s0-0", "s0-2", "s0-4", "s1-1", "s1-3"]
    assert {row.split()[0] for row in nbest} == {"s0-0", "s0-2", "s0-4", "s1-1", "s1-3"}


def test_what_speechbrain_itself_reads_is_what_the_beam_search_reads(work, recognizer):
    import torch

    from vpeval.asr.recognizers import load_recognizer

    ours = load_recognizer(recognizer / "decode.yaml")
    wave = np.random.default_rng(1).normal(0, 0.1, 16000).astype(np.float32)
    theirs, _ = ours.encoder.transcribe_batch(torch.from_numpy(wave)[None], torch.ones(1))
    logprobs = ours.logprobs(wave)
    assert logprobs.shape == (len(range(0, 101, 3)), len(ours.search.labels))
    assert np.allclose(np.exp(logprobs).sum(axis=1), 1, atol=1e-4)
    assert isinstance(theirs[0], str)
    assert set(ours.transcribe(wave)) <= set("ABDGOY ")


def test_a_directory_without_a_recogniser_is_one_message(work, tmp_path, recognizer):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/conf.yaml").write_text((recognizer / "decode.yaml").read_text())
    code, output = run("steps/decode.py", tmp_path / "model/conf.yaml", tmp_path / "out", work / "data")
    assert code == 1
    assert "has no hyperparams.yaml; put the files of a SpeechBrain EncoderASR there" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rate: 0.01", "rate: fast", "'rate' must be of type float"),
        ("epochs: 3", "epochs: 0", "'epochs: 0' is out of range"),
    ],
)
def test_a_wrong_setting_is_one_message(work, tmp_path, old, new, message):
    (tmp_path / "conf.yaml").write_text(CONF.replace(old, new))
    code, output = run("steps/train_asr.sh", tmp_path / "conf.yaml", tmp_path / "asr", work / "data")
    assert code != 0
    assert message in output
    assert "Traceback" not in output
    assert not (tmp_path / "asr").exists()
