"""Where the toolkit's own files are: in a clone, or in an installed package, which has `conf/` and `local/` in it."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent
"""The clone, in which the recipes run; without one, the directory of installed packages."""
IS_CLONE = (ROOT / "run.sh").is_file() and (ROOT / "conf").is_dir()
CONF = ROOT / "conf" if IS_CLONE else PACKAGE / "conf"
SCRIPTS = ROOT / "local" if IS_CLONE else PACKAGE / "scripts"


def model_store() -> Path:
    """Where models are kept unless VPEVAL_MODELS says otherwise: in the clone, or in the user's cache."""
    if IS_CLONE:
        return ROOT / "models"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vpeval/models"
