"""Run a script without starting a new interpreter, which takes longer than most scripts."""

import io
import runpy
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import pytest

LOCAL = Path(__file__).parents[2] / "local"


def call(script, *arguments, cwd="."):
    """The exit code and the output of ``local/<script> <arguments>``; warnings go to the log of pytest."""
    out, err = io.StringIO(), io.StringIO()
    with (
        chdir(cwd),
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        patch.setattr(sys, "argv", [script, *map(str, arguments)])
        runpy.run_path(str(LOCAL / script), run_name="__main__")
    return SimpleNamespace(returncode=end.value.code, stdout=out.getvalue(), stderr=err.getvalue())
