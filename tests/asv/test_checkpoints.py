import pickle
from pathlib import Path

import pytest
import torch

from vpeval.core.errors import InputError
from vpeval.networks.speechbrain import Checkpointer


class Evil:
    def __reduce__(self):
        return Path.touch, (Path("pwned"),)


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\3\4garbage", pickle.dumps(Evil()), pickle.dumps({"a": 1})])
def test_a_damaged_checkpoint_is_one_line_and_runs_nothing(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    checkpointer = Checkpointer(tmp_path / "checkpoints", recoverables={"network": torch.nn.Linear(2, 2)})
    saved = checkpointer.save_checkpoint(meta={"error": 1})
    saved.paramfiles["network"].write_bytes(content)
    with pytest.raises(InputError, match="is a damaged checkpoint") as found:
        checkpointer.recover_if_possible()
    assert "\n" not in str(found.value)
    assert not Path("pwned").exists()
