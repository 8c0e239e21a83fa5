#!/usr/bin/env -S bash -c '. "${VPEVAL_ROOT:-.}/path.sh" && exec python3 "$0" "$@"'
"""Placeholder for your own program in the bash template: reads one file, writes one file.

Usage: local/anon/template/program.py <in> <out.wav> <seed>

Multiplies the speech by a tone whose frequency comes from the seed.
"""

import sys

import numpy as np

from vpeval.audio.io import RATE, read_audio, write_wave

wave = read_audio(sys.argv[1])
carrier = 2000 + int(sys.argv[3]) % 2000
write_wave(sys.argv[2], wave * np.cos(2 * np.pi * carrier / RATE * np.arange(len(wave))))
