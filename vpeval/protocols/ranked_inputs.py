"""The rank of every input's true reference in a file beside the records: ``<stem>.inputs.npz``.

The histogram of all ranks tells what a system discloses; who the inputs are from is needed to compare two systems on
the same speakers.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np

from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path
from vpeval.metrics.rank_histograms import Ranks


@dataclass(frozen=True)
class RankedInputs:
    """Ranks, and the names of the speakers that they speak of by number."""

    ranks: Ranks
    speakers: tuple[str, ...]

    def write(self, path: str | PathLike[str]) -> None:
        """Write npz, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(
                file,
                first=self.ranks.first.astype(np.int32),
                last=self.ranks.last.astype(np.int32),
                owner=self.ranks.owner.astype(np.int32),
                references=np.array(self.ranks.n_references),
                speakers=np.array(self.speakers, dtype=str),
            )

    @classmethod
    def read(cls, path: str | PathLike[str]) -> RankedInputs:
        """Read what `write` wrote."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                first, last, owner = (stored[name].astype(np.int64) for name in ("first", "last", "owner"))
                references, speakers = int(stored["references"]), tuple(stored["speakers"].tolist())
        except FileNotFoundError:
            raise InputError("is missing, though the table names it; run the scorer again", path) from None
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise InputError(f"holds no ranks ({error}); run the scorer again", path) from None
        return cls(Ranks(first, last, owner, len(speakers), references), speakers)
