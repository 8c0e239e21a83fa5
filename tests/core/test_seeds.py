import hashlib
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.seeds import derive, generator, utt2seed

UTT2SPK = {"a-1": "a", "a-2": "a", "b-1": "b"}


def test_a_seed_is_the_first_64_bits_of_a_sha256() -> None:
    digest = hashlib.sha256(b"0\0trial\0spk\0f002").hexdigest()
    assert derive(0, "trial", "spk", "f002") == int.from_bytes(bytes.fromhex(digest[:16]), "little")


@settings(max_examples=40)
@given(st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
def test_seeds_are_64_bits_and_differ_for_different_names(one: list[str], other: list[str]) -> None:
    assert 0 <= derive(*one) < 2**64
    if "\0".join(one) != "\0".join(other):
        assert derive(*one) != derive(*other)


def test_a_seed_does_not_depend_on_the_hash_seed_of_the_process() -> None:
    code = "from vpeval.core.seeds import derive; print(derive(7, 'enroll', 'spk', 'x'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "17", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
    )
    assert int(done.stdout) == derive(7, "enroll", "spk", "x")


def test_generators_of_the_same_names_give_the_same_numbers() -> None:
    assert generator(1, "x").integers(0, 1000, 5).tolist() == generator(1, "x").integers(0, 1000, 5).tolist()
    assert generator(1, "x").integers(0, 1000, 5).tolist() != generator(2, "x").integers(0, 1000, 5).tolist()


def test_a_speaker_keeps_one_seed_within_a_set_and_has_another_in_sets_of_another_role() -> None:
    trial, enroll = (utt2seed(UTT2SPK, 0, role, "spk") for role in ("trial", "enroll"))
    assert trial["a-1"] == trial["a-2"] != trial["b-1"]
    assert not set(trial.values()) & set(enroll.values())


def test_at_utterance_level_every_utterance_has_a_seed_of_its_own() -> None:
    seeds = utt2seed(UTT2SPK, 0, "trial", "utt")
    assert len(set(seeds.values())) == 3
    assert seeds != utt2seed(UTT2SPK, 1, "trial", "utt")


def test_the_seed_of_an_utterance_does_not_depend_on_the_others_or_on_their_order() -> None:
    alone = utt2seed({"a-2": "a"}, 5, "train", "spk")
    assert utt2seed(dict(reversed(UTT2SPK.items())), 5, "train", "spk")["a-2"] == alone["a-2"]
