"""Checkpoints that are whole or do not count, and that all processes of a training agree about."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from vpeval.core.errors import InputError
from vpeval.networks import speechbrain

_WHOLE = "whole"


class Checkpointer(speechbrain.Checkpointer):
    """SpeechBrain's, for trainings that are killed at any moment, and on several nodes.

    SpeechBrain writes the file that makes a directory a checkpoint before all others: a training that was killed while
    it wrote could not be taken up again. Here a mark is written last. And it lets every process look for checkpoints
    itself: what they see on a shared disk may differ for a moment, and they would wait for each other for ever. Here
    the first one looks for all.
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
        found = super().list_checkpoints() if speechbrain.if_main_process() else None
        listed: list[Any] = speechbrain.ddp_broadcast(found, src=0)
        return listed

    def _list_checkpoint_dirs(self) -> list[Path]:
        return [path for path in super()._list_checkpoint_dirs() if (path / _WHOLE).exists()]
