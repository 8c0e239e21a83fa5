from pathlib import Path

import pytest

from vpeval.core.config import choose, read_config
from vpeval.core.errors import InputError


@pytest.fixture
def conf(tmp_path: Path):
    def write(content: str | bytes) -> Path:
        (tmp_path / "x.yaml").write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / "x.yaml"

    return write


def test_a_configuration_has_exactly_the_keys_and_types_asked_for(conf) -> None:
    path = conf("model: ecapa\nmels: 80\nrate: 1\nlabels: [a]\nfast: true\n")
    assert read_config(path, model=str, mels=int, rate=float, labels=list, fast=bool) == {
        "model": "ecapa",
        "mels": 80,
        "rate": 1,
        "labels": ["a"],
        "fast": True,
    }


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("mels: 80", "'model' is missing"),
        ("model: x\nmels: many", "'mels' must be of type int, not 'many'"),
        ("model: x\nmels: true", "'mels' must be of type int, not True"),
        ("model: x\nmels: 80.5", "'mels' must be of type int, not 80.5"),
        ("model: 3\nmels: 80", "'model' must be of type str, not 3"),
        ("model: x\nmels: 80\nmel: 40\n3: 4", "unknown key 'mel'; there are model, mels"),
        ("model: [x", "is not yaml"),
        ("model: x\nmels: 80\nmodel: y", "the key 'model' appears twice"),
        ("model: {a: 1, a: 2}\nmels: 80", "the key 'a' appears twice"),
        ("model: 2024-99-99\nmels: 80", "is not yaml"),
        (b"model: \xff", "is not yaml"),
        ("just words", "must be a list of 'key: value' lines"),
        ("", "must be a list of 'key: value' lines"),
        ("- model\n", "must be a list of 'key: value' lines"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_named(conf, content: str | bytes, complaint: str) -> None:
    path = conf(content)
    with pytest.raises(InputError) as caught:
        read_config(path, model=str, mels=int)
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_configuration_says_where_others_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"no such configuration; see those in {tmp_path}"):
        read_config(tmp_path / "x.yaml", model=str)


def test_one_key_chooses_what_the_others_are(conf) -> None:
    assert choose(conf("encoder: ecapa\nmels: 80"), "encoder", {"ecapa": 1, "other": 2}) == 1
    for content in ("encoder: ecap", "mels: 80"):
        with pytest.raises(InputError, match="'encoder' must be one of ecapa, other, not"):
            choose(conf(content), "encoder", {"ecapa": 1, "other": 2})
