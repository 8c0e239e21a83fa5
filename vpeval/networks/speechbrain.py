"""The one place that imports SpeechBrain, with a torchaudio that can stand without its compiled half.

SpeechBrain imports torchaudio, whose wheel is linked against CUDA: next to a CPU build of torch the import fails on a
missing shared library. We need none of the compiled parts, so on failure the module that loads them is replaced by a
stand-in that says so.
"""

from __future__ import annotations

import importlib
import sys
import types


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
from speechbrain.utils.checkpoints import Checkpointer, hook_on_loading_state_dict_checkpoint  # noqa: E402
from speechbrain.utils.distributed import ddp_broadcast, ddp_init_group, if_main_process  # noqa: E402
from speechbrain.utils.epoch_loop import EpochCounter  # noqa: E402
from speechbrain.utils.importutils import LazyModule  # noqa: E402

# Stand-ins for optional packages raise ImportError on any look at them, and inspect looks at every module.
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
