"""B1 from end to end with the real speaker encoder: both profiles learn from a handful of utterances and anonymise."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from vpeval.audio.io import RATE, read_audio
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[2]
SPEAKERS = {"train": ("f005",), "pool": ("f001", "f003", "m043", "m045"), "trial": ("f002", "m031")}
TINY_SSL: dict[str, Any] = {
    "extractor_mode": "group_norm",
    "extractor_conv_layer_config": [[8, 10, 5], [8, 8, 8], [8, 8, 8]],
    "extractor_conv_bias": False,
    "encoder_embed_dim": 16,
    "encoder_projection_dropout": 0.0,
    "encoder_pos_conv_kernel": 8,
    "encoder_pos_conv_groups": 4,
    "encoder_num_layers": 2,
    "encoder_num_heads": 2,
    "encoder_attention_dropout": 0.0,
    "encoder_ff_interm_features": 16,
    "encoder_ff_interm_dropout": 0.0,
    "encoder_dropout": 0.0,
    "encoder_layer_norm_first": False,
    "encoder_layer_drop": 0.0,
    "aux_num_out": None,
}


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two utterances of each speaker, one of those in the pool, in directories called train, pool and trial."""
    root = tmp_path_factory.mktemp("b1")
    for name, speakers in SPEAKERS.items():
        utt2spk = {f"{spk}-{number}": spk for spk in speakers for number in ("006", "011")[: 1 + (name != "pool")]}
        wav = {utt: str(ROOT / f"egs/mini/corpus/audio/{spk}/{utt}.opus") for utt, spk in utt2spk.items()}
        tables = {"wav.scp": wav, "utt2seed": {utt: str(ord(utt[0]) + int(utt[1:4])) for utt in wav}}
        DataDir(root / name, utt2spk, tables, {"spk2gender": {spk: spk[0] for spk in speakers}}).write(root / name)
    return root


def cpu_profile(root: Path) -> dict[str, Any]:
    profile = yaml.safe_load((ROOT / "local/anon/xvector_pool/cpu.yaml").read_text())
    profile["disguises"] = [1.0]
    profile["size"] |= {"channels": 16, "blocks": 2}
    profile["training"] |= {"steps": 3, "batch": 2}
    return profile


def full_profile(root: Path) -> dict[str, Any]:
    from vpeval.networks import speechbrain  # noqa: F401  makes torchaudio importable

    import torch  # isort: skip
    import torchaudio  # isort: skip

    torch.save(torchaudio.models.wav2vec2_model(**TINY_SSL).state_dict(), root / "ssl.pth")
    profile = yaml.safe_load((ROOT / "local/anon/xvector_pool/full.yaml").read_text())
    profile["content"] |= {"weights": str(root / "ssl.pth"), "layer": 1, "architecture": TINY_SSL}
    profile["disguises"] = [1.0, 1.1]
    profile["size"] |= {"content": 16, "channels": 16, "blocks": [3]}
    profile["training"] |= {"steps": 1, "batch": 1, "frames": 26}
    return profile


@pytest.mark.e2e
@pytest.mark.parametrize("make_profile", [cpu_profile, full_profile], ids=["cpu", "full"])
def test_a_profile_learns_and_gives_every_speaker_another_voice(make_profile, sets: Path, tmp_path: Path) -> None:
    from vpeval.anon.xvector import learn, pool, system

    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(make_profile(tmp_path)))
    profile, models = system.read_profile(tmp_path / "tiny.yaml"), tmp_path / "models"
    trial = DataDir.load(sets / "trial")
    seeds = {utt: int(seed) for utt, seed in trial.table("utt2seed").items()}
    with pytest.raises(InputError, match=r"pool\.npz is missing; prepare the anonymiser first"):
        system.System(profile, models, pool.Rule(), trial, seeds)

    assert learn.prepare(profile, [sets / "train"], [sets / "pool"], models, nj=1)
    made = {path.name for path in models.iterdir()}
    assert made == {".made", ".stamp.json", "plda.npz", "pool.npz", "synthesis.pt"}
    assert not learn.prepare(profile, [sets / "train"], [sets / "pool"], models, nj=1)
    with pytest.raises(InputError, match="is also in the pool"):
        system.System(profile, models, pool.Rule(), DataDir.load(sets / "pool"), {})

    anonymizer = system.System(profile, models, pool.Rule(), trial, seeds, "plda")
    for utt in trial.utts:
        before = read_audio(trial.wav[utt])
        after = anonymizer.anonymize(before, RATE, seeds[utt], utt)
        assert len(after) == len(before)
        assert 0 < np.abs(after).max() <= 1
        pseudo = anonymizer.pseudo_speaker(utt)
        assert {name[0] for name in pseudo.members} == {utt[0]}
        assert set(pseudo.members) <= set(SPEAKERS["pool"])
        assert pseudo is anonymizer.pseudo_speaker(trial.spk2utt[trial.utt2spk[utt]][0])
