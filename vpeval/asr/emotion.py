"""Speech emotion recognition: any SpeechBrain classifier in a directory, one per fold where the data have folds."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch

import vpeval.asv.speechbrain  # noqa: F401  # must come first: it makes SpeechBrain importable

# isort: split
from speechbrain.inference.classifiers import EncoderClassifier
from speechbrain.inference.interfaces import foreign_class
from speechbrain.utils.fetching import FetchConfig, LocalStrategy

from vpeval.core import compute
from vpeval.core.errors import InputError

_OWN_INTERFACE = "custom_interface.py"


class EmotionClassifier:
    """An EncoderClassifier directory, or one that brings its own class `interface` in custom_interface.py.

    Both hyperparams.yaml and custom_interface.py can run any code: use directories that you made or trust.
    """

    def __init__(self, directory: Path, interface: str) -> None:
        if not (directory / "hyperparams.yaml").is_file():
            raise InputError("no hyperparams.yaml; put the files of a SpeechBrain classifier there", directory)
        compute.set_up()
        options = {
            "local_strategy": LocalStrategy.COPY,
            "fetch_config": FetchConfig(allow_network=False),
            "run_opts": {"device": str(compute.device())},
        }
        with tempfile.TemporaryDirectory() as copies:
            options |= {"source": str(directory), "savedir": copies}
            if (directory / _OWN_INTERFACE).is_file():
                self.classifier = foreign_class(pymodule_file=_OWN_INTERFACE, classname=interface, **options)
            else:
                self.classifier = EncoderClassifier.from_hparams(**options)

    @torch.inference_mode()
    def classify(self, wave: np.ndarray) -> str:
        """The most likely emotion of mono 16 kHz samples."""
        *_, labels = self.classifier.classify_batch(torch.from_numpy(wave).unsqueeze(0))
        return str(labels[0])
