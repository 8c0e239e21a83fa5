"""Import SpeechBrain, with a torchaudio that works without its compiled half, and with safer checkpoints.

SpeechBrain imports torchaudio, whose wheel is linked against CUDA: next to a CPU build of torch the import fails on a
missing shared library. None of the compiled parts is needed, so on failure the module that loads them is replaced by a
substitute. Import this module before any other of SpeechBrain.
"""

from __future__ import annotations

import importlib
import pickle
import sys
import types
from pathlib import Path
from typing import Any

from vpeval.core.errors import InputError


def _import_torchaudio() -> None:
    try:
        importlib.import_module("torchaudio")
        return
    except (OSError, RuntimeError, ImportError):
        for name in [name for name in sys.modules if name.split(".")[0] == "torchaudio"]:
            del sys.modules[name]
    extension = types.ModuleType("torchaudio._extension")
    extension._IS_TORCHAUDIO_EXT_AVAILABLE = False  # type: ignore[attr-defined]
    extension._IS_ALIGN_AVAILABLE = False  # type: ignore[attr-defined]
    extension._check_cuda_version = lambda: None  # type: ignore[attr-defined]
    extension.fail_if_no_align = lambda function: function  # type: ignore[attr-defined]
    sys.modules["torchaudio._extension"] = extension
    importlib.import_module("torchaudio")


_import_torchaudio()

from hyperpyyaml import resolve_references  # type: ignore[import-untyped]  # noqa: E402
from speechbrain.augment.time_domain import DropChunk, DropFreq, SpeedPerturb  # noqa: E402
from speechbrain.core import Brain, Stage  # noqa: E402
from speechbrain.lobes.features import Fbank  # noqa: E402
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN, Classifier  # noqa: E402
from speechbrain.lobes.models.Xvector import Xvector  # noqa: E402
from speechbrain.nnet.losses import AdditiveAngularMargin, LogSoftmaxWrapper  # noqa: E402
from speechbrain.nnet.schedulers import CyclicLRScheduler  # noqa: E402
from speechbrain.processing.features import InputNormalization  # noqa: E402
from speechbrain.utils.checkpoints import Checkpointer as _Checkpointer  # noqa: E402
from speechbrain.utils.checkpoints import hook_on_loading_state_dict_checkpoint  # noqa: E402
from speechbrain.utils.distributed import ddp_broadcast, ddp_init_group, if_main_process  # noqa: E402
from speechbrain.utils.epoch_loop import EpochCounter  # noqa: E402
from speechbrain.utils.importutils import LazyModule  # noqa: E402

# Substitutes for optional packages raise ImportError on any access, and inspect accesses every module.
for _name in [name for name, module in sys.modules.items() if isinstance(module, LazyModule)]:
    del sys.modules[_name]

__all__ = [
    "ECAPA_TDNN",
    "AdditiveAngularMargin",
    "Brain",
    "Checkpointer",
    "Classifier",
    "CyclicLRScheduler",
    "DropChunk",
    "DropFreq",
    "EpochCounter",
    "Fbank",
    "InputNormalization",
    "LogSoftmaxWrapper",
    "SpeedPerturb",
    "Stage",
    "Xvector",
    "ddp_broadcast",
    "ddp_init_group",
    "hook_on_loading_state_dict_checkpoint",
    "if_main_process",
    "resolve_references",
]

_WHOLE = "whole"


class Checkpointer(_Checkpointer):
    """SpeechBrain's, for trainings that are killed at any moment, and on several nodes.

    SpeechBrain writes the file that makes a directory a checkpoint before all others: a training that was killed while
    it wrote could not be resumed. Here a mark is written last. And it lets every process search for checkpoints
    itself: what they see on a shared disk may differ for a moment, and they would wait for each other for ever. Here
    the first one searches for all.
    """

    def save_checkpoint(self, *args: object, **options: object) -> object:
        """Save, and then say that all is there."""
        saved = super().save_checkpoint(*args, **options)
        if saved is not None:
            Path(saved.path, _WHOLE).touch()
        return saved

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Load; a damaged checkpoint is an InputError, and nothing but tensors and numbers is read of it."""
        try:
            super().load_checkpoint(checkpoint)
        except (RuntimeError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"is a damaged checkpoint ({reason}); remove it, and the training goes on from the one before",
                checkpoint.path,
            ) from None

    def list_checkpoints(self) -> list[Any]:
        """All whole checkpoints."""
        found = super().list_checkpoints() if if_main_process() else None
        listed: list[Any] = ddp_broadcast(found, src=0)
        return listed

    def _list_checkpoint_dirs(self) -> list[Path]:
        return [path for path in super()._list_checkpoint_dirs() if (path / _WHOLE).exists()]
