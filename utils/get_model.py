#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Download pretrained models of conf/models.yaml into the model store and print their directories.

Usage: utils/get_model.py <model> ...
 e.g.: utils/get_model.py ecapa_voxceleb whisper_base

The store is models/ or $VPEVAL_MODELS. Files put there by hand are used when their SHA-256 is right.
"""

from vpeval.cli import script
from vpeval.core import models


def main() -> None:
    """Fetch and verify each model."""
    parser = script.Parser(__doc__)
    parser.add_argument("models", nargs="+", metavar="model")
    for name in parser.parse_args().models:
        print(models.fetch(models.find_model(name)))


if __name__ == "__main__":
    script.main(main)
