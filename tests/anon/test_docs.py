"""The hooks printed in docs/hooks.md are short, and they work."""

import os
import re
import sys
from pathlib import Path

import pytest

from vpeval.anon import conformance
from vpeval.anon.calls import Subject
from vpeval.audio.io import read_audio, write_wave
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/hooks.md").read_text()


def printed_hook(language: str) -> str:
    found = re.search(rf"<!-- hook: {language} -->\n```{language}\n(.*?)```", GUIDE, re.DOTALL)
    assert found, f"docs/hooks.md has no {language} hook"
    return found[1]


@pytest.mark.e2e
@pytest.mark.parametrize(("language", "most_lines"), [("python", 15), ("bash", 6)])
def test_the_printed_hook_is_short_and_keeps_the_contract(
    language: str, most_lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    hook = tmp_path / "hook"
    hook.write_text(printed_hook(language))
    hook.chmod(0o755)
    assert len(hook.read_text().splitlines()) <= most_lines
    write_wave(tmp_path / "f002-006.wav", read_audio(str(ROOT / "egs/mini/corpus/audio/f002/f002-006.opus"))[:8000])
    data = DataDir(tmp_path / "data", {"f002-006": "f002"}, {"wav.scp": {"f002-006": str(tmp_path / "f002-006.wav")}})
    (tmp_path / "work").mkdir()
    verdicts = list(conformance.check(Subject(hook, work=tmp_path / "work"), data))
    assert [verdict for verdict in verdicts if verdict.state != "ok"] == []
    assert verdicts[-1].check == "speed"


def test_every_shipped_hook_is_in_the_guide() -> None:
    for folder in (ROOT / "local/anon").iterdir():
        assert f"| `{folder.name}` |" in GUIDE
