from pathlib import Path

import pytest

from vpeval.anon.hook import STRATEGIES, Strategy, draw_seeds
from vpeval.core import seeds
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir

UTT2SPK = {"a-1": "a", "a-2": "a", "b-1": "b"}


def seeded(role: str, level: seeds.Level, utt2spk: dict[str, str] = UTT2SPK) -> DataDir:
    return DataDir(Path("set"), utt2spk, {"utt2seed": seeds.utt2seed(utt2spk, 0, role, level)})


def test_constant_is_one_for_everybody_in_every_role() -> None:
    drawn = draw_seeds("constant", seeded("trial", "utt")) | draw_seeds("constant", seeded("enroll", "spk"))
    assert len(set(drawn.values())) == 1


@pytest.mark.parametrize("level", ["spk", "utt"])
def test_speaker_is_one_per_speaker_and_role_whatever_the_level(level: seeds.Level) -> None:
    trial, enroll = (draw_seeds("speaker", seeded(role, level)) for role in ("trial", "enroll"))
    assert trial["a-1"] == trial["a-2"] != trial["b-1"]
    assert not set(trial.values()) & set(enroll.values())


@pytest.mark.parametrize("level", ["spk", "utt"])
def test_utterance_is_one_for_each_whatever_the_level(level: seeds.Level) -> None:
    assert len(set(draw_seeds("utterance", seeded("trial", level)).values())) == 3


def test_random_is_what_the_driver_has_drawn() -> None:
    for level, voices in (("spk", 2), ("utt", 3)):
        data = seeded("trial", level)
        assert draw_seeds("random", data) == {utt: int(seed) for utt, seed in data.table("utt2seed").items()}
        assert len(set(draw_seeds("random", data).values())) == voices


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_other_speakers_in_the_set_change_nothing(strategy: Strategy) -> None:
    few = draw_seeds(strategy, seeded("trial", "utt", {"a-1": "a", "a-2": "a"}))
    more = draw_seeds(strategy, seeded("trial", "utt"))
    assert few == {utt: more[utt] for utt in few}


def test_a_seed_that_is_no_number_is_named() -> None:
    data = seeded("trial", "spk").with_table("utt2seed", {"a-1": "1", "a-2": "x", "b-1": "2"})
    with pytest.raises(InputError, match="set/utt2seed: utterance 'a-2' has 'x'"):
        draw_seeds("random", data)
