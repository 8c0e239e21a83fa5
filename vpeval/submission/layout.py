"""Where things are in a submission archive.

Everything lies in one folder::

    <system>/manifest.json                            edition, versions, seeds, size and SHA-256 of every other file
    <system>/system_description.md                    to be filled in
    <system>/results/results.txt                      the results files of the edition
    <system>/scores/ASV-<enrolls>-<trials>/scores     <spk> <utt> <score>
    <system>/text/ASR-<set>/text                      what the recogniser understood
    <system>/data/<set>_<system>/wav/<utt>.wav        16 kHz, mono, 16 bit
    <system>/data/<set>_<system>/{wav.scp,utt2spk,…}  the files of the data directory
"""

from __future__ import annotations

import re

MANIFEST = "manifest.json"
DESCRIPTION = "system_description.md"
FORMAT = 1

LEAST_BYTES = {
    "train-clean-360": 40_930_724_008,
    "libri_dev_enrolls": 71_101_617,
    "libri_dev_trials_m": 210_210_523,
    "libri_dev_trials_f": 214_121_749,
    "libri_test_enrolls": 85_776_535,
    "libri_test_trials_m": 206_095_756,
    "libri_test_trials_f": 189_792_733,
    "IEMOCAP_dev": 408_732_347,
    "IEMOCAP_test": 378_653_727,
}
"""What the upload of VoicePrivacy 2024 demands of the audio of its own sets."""

_SAFE = re.compile(r"[A-Za-z0-9._+=@,^-]+(?:/[A-Za-z0-9._+=@,^-]+)*")


def is_safe(name: str) -> bool:
    """Whether the name of a member stays inside its folder on every system and holds nothing strange."""
    return bool(_SAFE.fullmatch(name)) and not any(part in (".", "..") for part in name.split("/"))
