"""Where the emotion recognisers of folds are."""

from __future__ import annotations

from pathlib import Path


def fold_directory(models: Path, fold: str) -> Path:
    """Where the classifier of a fold is: fold_<n>/ as in the challenge, or the directory itself without folds."""
    return models / f"fold_{fold}" if fold else models
