"""Speech emotion recognition: any SpeechBrain classifier in a directory, one per fold where the data have folds.

A directory is read as data, without running code that came with it. The wav2vec2 classifiers of the challenges bring a
class of their own along (custom_interface.py); what it computes is here, too, so that it need not be run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import vpeval.networks.speechbrain  # noqa: F401  # must come first: it makes SpeechBrain importable

# isort: split
from speechbrain.inference.classifiers import EncoderClassifier
from speechbrain.inference.interfaces import foreign_class
from speechbrain.utils.fetching import FetchConfig, LocalStrategy

from vpeval.asr.linear_emotion import fold_directory
from vpeval.audio.io import read_audio
from vpeval.core.errors import InputError
from vpeval.networks import compute
from vpeval.networks.hyperparams import HYPERPARAMS, load_pretrained, read_hyperparams

if TYPE_CHECKING:
    from vpeval.jobs.worker import Part

_OWN_INTERFACE = "custom_interface.py"
_WAV2VEC2 = ("wav2vec2", "avg_pool", "output_mlp")
_USUAL = EncoderClassifier.MODULES_NEEDED


class EmotionClassifier:
    """An EncoderClassifier directory, a wav2vec2 classifier, or one with a class `interface` in custom_interface.py.

    Naming an interface allows the directory to run its code: do so for directories that you made or trust.
    """

    def __init__(self, directory: Path, interface: str = "") -> None:
        if not (directory / HYPERPARAMS).is_file():
            raise InputError(f"no {HYPERPARAMS}; put the files of a SpeechBrain classifier there", directory)
        compute.set_up()
        self.classifier = _foreign(directory, interface) if interface else _known(directory)

    @torch.inference_mode()
    def classify(self, wave: np.ndarray) -> str:
        """The most likely emotion of mono 16 kHz samples."""
        *_, labels = self.classifier.classify_batch(torch.from_numpy(wave).unsqueeze(0))
        return str(labels[0])


class _Wav2Vec2Classifier:
    """Frames of wav2vec2, their mean, and a layer for the emotions: what the challenges' own class computes."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.device = compute.device()
        self.wav2vec2, self.pool, self.output = (made[name].to(self.device).eval() for name in _WAV2VEC2)
        self.labels = made["label_encoder"]

    def classify_batch(self, waves: torch.Tensor) -> tuple[torch.Tensor, list[str]]:
        """Scores and labels of waves of one length."""
        lengths = torch.ones(len(waves), device=self.device)
        frames = self.wav2vec2(waves.to(self.device), lengths)
        scores = self.output(self.pool(frames, lengths).flatten(start_dim=1))
        return scores, self.labels.decode_torch(scores.argmax(dim=-1))


def _known(directory: Path) -> Any:
    made = read_hyperparams(directory, "a SpeechBrain classifier")
    for parts in (_WAV2VEC2, _USUAL):
        if all(isinstance(made.get(name), torch.nn.Module) for name in parts) and "label_encoder" in made:
            load_pretrained(made, directory)
            if parts is _WAV2VEC2:
                return _Wav2Vec2Classifier(made)
            modules = {name: made[name] for name in _USUAL}
            return EncoderClassifier(modules=modules, hparams=made, run_opts={"device": str(compute.device())})
    own = f"; it brings code of its own, {_OWN_INTERFACE}, which --interface CLASS allows to run"
    raise InputError(
        f"is neither a wav2vec2 classifier ({', '.join(_WAV2VEC2)}) nor an EncoderClassifier ({', '.join(_USUAL)})"
        + (own if (directory / _OWN_INTERFACE).is_file() else ""),
        directory / HYPERPARAMS,
    )


def _foreign(directory: Path, interface: str) -> Any:
    if not (directory / _OWN_INTERFACE).is_file():
        raise InputError(f"has no {_OWN_INTERFACE} with a class {interface}; leave --interface out", directory)
    with tempfile.TemporaryDirectory() as copies:
        return foreign_class(
            pymodule_file=_OWN_INTERFACE,
            classname=interface,
            source=str(directory),
            savedir=copies,
            local_strategy=LocalStrategy.COPY,
            fetch_config=FetchConfig(allow_network=False),
            run_opts={"device": str(compute.device())},
        )


class EmotionWorker:
    """The worker of emotion recognition: the emotion of an utterance by the classifier of its speaker's fold."""

    def __init__(self, models: str, interface: str) -> None:
        self.models, self.interface = Path(models), interface
        self._classifiers: dict[str, EmotionClassifier] = {}
        self.most = 1

    def read(self, part: Part) -> np.ndarray:
        """The wave of an utterance."""
        return read_audio(part.wav)

    def alike(self, wave: np.ndarray) -> None:
        """Each is classified by itself."""

    def start(self, parts: Sequence[Part], waves: Sequence[np.ndarray]) -> Callable[[], list[bytes]]:
        """Classify utterances; without spk2fold, there is one classifier for all."""
        labels = [self._classify(part, wave) for part, wave in zip(parts, waves, strict=True)]
        return lambda: labels

    def _classify(self, part: Part, wave: np.ndarray) -> bytes:
        fold = part.tables.get("spk2fold", "")
        if fold not in self._classifiers:
            self._classifiers[fold] = EmotionClassifier(fold_directory(self.models, fold), self.interface)
        return self._classifiers[fold].classify(wave).encode()
