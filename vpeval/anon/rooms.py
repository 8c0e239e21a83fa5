"""The folders that hooks write into, and the way of their files from there to the folders of speakers.

A hook writes ``<utt>.wav`` into one flat folder, a room of its own, so that a job that runs twice disturbs nobody. What
it wrote is taken to its place when the hook has ended; from the scratch disk of a node, which is lost with the node, as
soon as a file is whole and grows no more.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from vpeval.anon.check import is_whole_wave
from vpeval.anon.publish import wave_of
from vpeval.core.files import atomic_path

ROOMS = "hook"
"""In the work directory: the rooms of the hooks that run, or were killed."""


class Room:
    """Where a hook writes the utterances of `speaker_of`, which belong into directory `out`."""

    def __init__(self, folder: Path, out: Path, speaker_of: Mapping[str, str]) -> None:
        self.folder, self._out, self._speaker_of = folder, out, speaker_of
        self._sizes: dict[str, int] = {}
        self._taken = 0
        folder.mkdir(parents=True, exist_ok=True)

    def count(self) -> int:
        """How many files were written so far; costs one listing of a folder."""
        with os.scandir(self.folder) as entries:
            return self._taken + sum(entry.name.endswith(".wav") and entry.name[0] != "." for entry in entries)

    def take_finished(self) -> None:
        """Take the files that are whole and have not grown since the last call."""
        for file in sorted(self.folder.glob("*.wav")):
            if file.stem in self._speaker_of and is_own(file):
                size = file.stat().st_size
                if self._sizes.get(file.name) == size and is_whole_wave(file):
                    self._take(file)
                self._sizes[file.name] = size

    def take_all(self, whole: bool) -> list[str]:
        """Take the files of all utterances, or only the `whole` ones; return the names of what is no utterance's."""
        strange = []
        for file in sorted(self.folder.iterdir()):
            if file.suffix != ".wav" or file.stem not in self._speaker_of or not is_own(file):
                strange += [file.name] if file.name[0] != "." else []  # hidden: what a killed write leaves behind
            elif not whole or is_whole_wave(file):
                self._take(file)
        return strange

    def _take(self, file: Path) -> None:
        self._taken += 1
        place = wave_of(self._out, self._speaker_of[file.stem], file.stem)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            if file.stat().st_nlink > 1:
                raise OSError(errno.EXDEV, "shares its content with another file, which is not ours")
            file.replace(place)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with atomic_path(place) as temporary:
                shutil.copyfile(file, temporary)
            file.unlink()


def is_own(file: Path) -> bool:
    """Whether it is a file of the hook's, and no link to something that is not, such as the original."""
    return file.is_file() and not file.is_symlink()
