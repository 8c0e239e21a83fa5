"""Recognisers from CTC directories of SpeechBrain (EncoderASR).

A directory is read as data (`vpeval.networks.hyperparams`): from its own files, without network, and without running
code that came with it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import vpeval.networks.speechbrain  # noqa: F401  # must come first: it makes SpeechBrain importable

# isort: split
from speechbrain.dataio.encoder import CTCTextEncoder
from speechbrain.inference.ASR import EncoderASR

from vpeval.asr.ctc import BeamSearch
from vpeval.asr.lm import NGram
from vpeval.asr.nbest import Hypothesis
from vpeval.asr.network import ConvCTC
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.networks import compute
from vpeval.networks.hyperparams import HYPERPARAMS, load_pretrained, read_hyperparams

_PIECE_START = "▁"
_SHORTEST = 1600


class SpeechBrainCTC:
    """An EncoderASR directory: hyperparams.yaml and the files that its pretrainer lists."""

    def __init__(self, config: Path, lm: NGram | None = None) -> None:
        settings = read_config(
            config,
            recognizer=str,
            directory=str,
            blank=int,
            beam=int,
            nbest=int,
            acoustic_scale=float,
            lmwt=float,
            wip=float,
        )
        compute.set_up()
        self.encoder = _load(config.parent / settings["directory"])
        self.nbest_size = settings["nbest"]
        self.search = BeamSearch(
            _labels(self.encoder.tokenizer),
            settings["blank"],
            lm,
            settings["lmwt"],
            settings["wip"],
            settings["acoustic_scale"],
            settings["beam"],
        )

    def transcribe(self, wave: np.ndarray) -> str:
        """The best hypothesis of the beam search."""
        return self.search(self.logprobs(wave))[0].words

    def nbest(self, wave: np.ndarray) -> list[Hypothesis]:
        """The best hypotheses with their acoustic scores."""
        return self.search(self.logprobs(wave), self.nbest_size)

    @torch.inference_mode()
    def logprobs(self, wave: np.ndarray) -> np.ndarray:
        """Frames × labels."""
        wave = np.pad(wave, (0, max(0, _SHORTEST - len(wave))))
        batch = torch.from_numpy(wave).unsqueeze(0)
        logprobs: np.ndarray = self.encoder.encode_batch(batch, torch.ones(1))[0].cpu().numpy()
        return logprobs


def _load(directory: Path) -> EncoderASR:
    made = read_hyperparams(directory, "a SpeechBrain EncoderASR", {"vpeval.asr.network.ConvCTC": ConvCTC})
    for name, kind in (("encoder", torch.nn.Module), ("tokenizer", object), ("decoding_function", object)):
        if not isinstance(made.get(name), kind) or made.get(name) is None:
            raise InputError(f"names no {name}; is it a CTC recogniser (EncoderASR)?", directory / HYPERPARAMS)
    load_pretrained(made, directory)
    modules = {"encoder": made["encoder"]}
    return EncoderASR(modules=modules, hparams=made, run_opts={"device": str(compute.device())})


def _labels(tokenizer: CTCTextEncoder) -> list[str]:
    """The outputs of the network as text; subword units that begin a word have a blank in front."""
    if isinstance(tokenizer, CTCTextEncoder):
        return [tokenizer.ind2lab[i] for i in range(len(tokenizer))]
    return [tokenizer.id_to_piece(i).replace(_PIECE_START, " ") for i in range(tokenizer.vocab_size())]
