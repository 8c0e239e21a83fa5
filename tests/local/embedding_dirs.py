"""Embedding directories and a way to run a scorer on them."""

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from vpeval.embeddings.speaker_vectors import write_embeddings

ROOT = Path(__file__).parents[2]


def write(directory, vectors_of):
    """Write the vectors of every speaker (speaker → matrix) as utterances <speaker>-<name of the directory>-<k>."""
    names = {spk: [f"{spk}-{directory.name}-{k:03d}" for k in range(len(rows))] for spk, rows in vectors_of.items()}
    vectors = {utt: row for spk, rows in vectors_of.items() for utt, row in zip(names[spk], rows, strict=True)}
    write_embeddings(directory, vectors, {utt: spk for spk, utts in names.items() for utt in utts})


def speakers(n, n_utts, noise, seed, dimension=16):
    """Random utterance vectors of speakers s00, s01 …; the same speakers whatever the seed."""
    centres = np.random.default_rng(0).standard_normal((n, dimension))
    rng = np.random.default_rng(seed)
    return {f"s{k:02d}": centres[k] + noise * rng.standard_normal((n_utts, dimension)) for k in range(n)}


def run(script, *arguments, cwd):
    """Run a script of local/ as a participant does."""
    return subprocess.run(
        [sys.executable, ROOT / "local" / script, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def failure(script, *arguments, cwd):
    """The message with which a script fails with exit code 1; run in this process, which is faster."""
    stderr = io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stderr(stderr),
        mock.patch("sys.argv", [script, *map(str, arguments)]),
        pytest.raises(SystemExit) as left,
    ):
        runpy.run_path(str(ROOT / "local" / script), run_name="__main__")
    assert left.value.code == 1
    message = stderr.getvalue()
    assert message.startswith(f"{script}: ")
    assert message.count("\n") == 1
    return message
