"""The smallest training profile of an encoder."""

PROFILE = """\
epochs: {epochs}
batch: 8
crop_seconds: 0.3
margin: 0.2
scale: 30.0
optimizer: adam
rate: 0.01
lowest_rate: 1.0e-4
weight_decay: 0.0
cycle_epochs: 2
validation_share: 0.2
augment: {augment}
freeze: []
workers: 0
"""
BACKEND = "lda: 0\niterations: 5\nprior_speakers: 8.0\nprior_utts: 8.0\ncalibration: 2\n"
"""The profile of a back end that few speakers suffice for."""

SMALL = "encoder: ecapa\nmodel: {model}\nmels: 20\nchannels: [16, 16, 16, 16, 48]\ndimension: 8\n"
"""The yaml of a small network."""
