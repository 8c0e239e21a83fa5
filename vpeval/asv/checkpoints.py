"""Checkpoints that are whole or do not count."""

from __future__ import annotations

from pathlib import Path

from vpeval.asv import speechbrain

_WHOLE = "whole"


class Checkpointer(speechbrain.Checkpointer):
    """SpeechBrain's, which writes the file that makes a directory a checkpoint before all others.

    A training that was killed while it wrote could not be taken up again; here a mark is written last.
    """

    def save_checkpoint(self, *args: object, **options: object) -> object:
        """Save, and then say that all is there."""
        saved = super().save_checkpoint(*args, **options)
        if saved is not None:
            Path(saved.path, _WHOLE).touch()
        return saved

    def _list_checkpoint_dirs(self) -> list[Path]:
        return [path for path in super()._list_checkpoint_dirs() if (path / _WHOLE).exists()]
