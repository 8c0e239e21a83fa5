import hashlib
import runpy
import sys
from pathlib import Path

import pytest

from vpeval.core import models

SCRIPT = str(Path(__file__).resolve().parents[2] / "utils/get_model.py")


@pytest.fixture
def get_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the script on a models.yaml of two models whose files are in a folder."""
    monkeypatch.setenv("VPEVAL_MODELS", str(tmp_path / "store"))
    (tmp_path / "share").mkdir()
    entries = {}
    for name in ("one", "two"):
        (tmp_path / "share" / f"{name}.bin").write_text(name)
        files = {f"{name}.bin": hashlib.sha256(name.encode()).hexdigest()}
        entries[name] = models.Model(name, name, "MIT", files, ({"url": (tmp_path / "share").as_uri()},))
    monkeypatch.setattr(models, "read_models", lambda: entries)

    def run(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", [SCRIPT, *args])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(SCRIPT, run_name="__main__")
        assert isinstance(left.value.code, int)
        return left.value.code, *capsys.readouterr()

    return run


def test_the_directories_of_the_models_are_printed(get_model, tmp_path: Path) -> None:
    code, out, _ = get_model("one", "two")
    assert (code, out) == (0, f"{tmp_path}/store/one\n{tmp_path}/store/two\n")
    assert (tmp_path / "store/two/two.bin").read_text() == "two"


def test_an_unknown_model_is_a_mistake(get_model, tmp_path: Path) -> None:
    assert get_model("three") == (1, "", "get_model.py: no model 'three' in conf/models.yaml; there are one, two\n")
    assert get_model()[0] == 1
    assert not (tmp_path / "store").exists()


def test_a_model_that_cannot_be_had_is_a_message_and_not_a_traceback(get_model, tmp_path: Path) -> None:
    (tmp_path / "share/one.bin").unlink()
    code, out, err = get_model("one")
    assert (code, out) == (1, "")
    assert "get_model.py: cannot get model one:\n" in err
    assert "Check the network, or put by hand:\n" in err and "Traceback" not in err
