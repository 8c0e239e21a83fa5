#!/usr/bin/env -S bash -c '. "${VPEVAL_ROOT:-.}/path.sh" && exec python3 "$0" "$@"'
"""Stands for your own command-line program in the bash template: one file in, one file out.

Usage: local/anon/template/program.py <in> <out.wav> <seed>

Multiplies the speech with a tone whose pitch comes from the seed: quickly done, and badly understood.
"""

import sys

import numpy as np

from vpeval.audio.io import RATE, read_audio, write_wave

wave = read_audio(sys.argv[1])
carrier = 2000 + int(sys.argv[3]) % 2000
write_wave(sys.argv[2], wave * np.cos(2 * np.pi * carrier / RATE * np.arange(len(wave))))
