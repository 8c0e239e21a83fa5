from pathlib import Path

import numpy as np
import pytest

from vpeval.core.errors import InputError
from vpeval.embeddings.speaker_vectors import pool, read_embeddings, split, write_embeddings
from vpeval.networks.encoders import pack_vector, stack_results


@pytest.fixture
def directory(tmp_path):
    """Speakers a (three utterances) and b (five), the ids in no order."""
    rng = np.random.default_rng(1)
    utts = ["b-4", "a-1", "b-1", "a-3", "b-3", "b-2", "a-2", "b-5"]
    folder = tmp_path / "emb"
    write_embeddings(folder, {utt: rng.standard_normal(4) for utt in utts}, {utt: utt[0] for utt in utts})
    return folder


def test_vectors_are_grouped_by_speaker_in_the_order_of_ids(directory):
    found = read_embeddings(directory)
    assert found.speakers == ("a", "b")
    assert found.utts == ("a-1", "a-2", "a-3", "b-1", "b-2", "b-3", "b-4", "b-5")
    assert found.starts.tolist() == [0, 3, 8]
    assert found.counts.tolist() == [3, 5]
    assert found.owners.tolist() == [0] * 3 + [1] * 5


def test_the_order_of_lines_does_not_matter(directory):
    before = read_embeddings(directory)
    for name in ("embedding.scp", "utt2spk"):
        lines = (directory / name).read_text().splitlines(keepends=True)
        (directory / name).write_text("".join(reversed(lines)))
    after = read_embeddings(directory)
    assert after.utts == before.utts
    assert np.array_equal(after.means(np.arange(2), 2), before.means(np.arange(2), 2))


def test_the_mean_over_all_utterances_needs_no_seed(directory):
    found = read_embeddings(directory)
    assert found.means(np.array([1]))[0] == pytest.approx(found.vectors[3:].mean(axis=0), abs=1e-6)


def test_a_larger_choice_of_utterances_contains_the_smaller_one(directory):
    found = read_embeddings(directory)
    one, two = (found.means(np.array([1]), n, seed=3)[0] for n in (1, 2))
    second = 2 * two - one
    rows = found.vectors[3:]
    assert min(np.abs(rows - one).max(axis=1)) == 0
    assert min(np.abs(rows - second).max(axis=1)) < 1e-6
    assert any(not np.array_equal(one, found.means(np.array([1]), 1, seed=seed)[0]) for seed in range(4, 9))


def test_folds_are_means_over_disjoint_utterances(directory):
    found = read_embeddings(directory)
    vectors, counts = found.folds(np.array([0, 1]), 2, 10, seed=0, label="x")
    assert counts.tolist() == [1, 2]
    assert vectors.shape == (2, 2, 4)
    assert not vectors[1, 0].any()
    total = found.vectors[3:].sum(axis=0) - 2 * vectors[:, 1].sum(axis=0)
    assert min(np.abs(found.vectors[3:] - total).max(axis=1)) < 1e-6  # the one utterance that no fold has


def test_a_split_is_disjoint_and_leaves_out_who_has_too_few(directory):
    found = read_embeddings(directory)
    halves = split(found, 3, seed=1)
    assert halves.left_out == ("a",)
    assert sorted([*halves.inputs, *halves.references]) == [3, 4, 5, 6, 7]
    assert len(halves.inputs) == 3


def test_pooling_keeps_every_utterance_and_refuses_the_same_one_twice(directory, tmp_path):
    found = read_embeddings(directory)
    write_embeddings(tmp_path / "more", {"a-9": np.ones(4), "c-1": np.ones(4)}, {"a-9": "a", "c-1": "c"})
    pooled = pool([found, read_embeddings(tmp_path / "more")])
    assert pooled.speakers == ("a", "b", "c")
    assert pooled.counts.tolist() == [4, 5, 1]
    with pytest.raises(InputError, match="'a-1' is also in an earlier directory"):
        pool([found, found])


def test_some_rows_keep_their_vectors_and_speakers_whatever_order_they_are_named_in(directory):
    found = read_embeddings(directory)
    some = found.select(np.array([6, 2, 4]))
    assert some.utts == ("a-3", "b-2", "b-4") and some.speakers == ("a", "b")
    assert np.array_equal(some.vectors, found.vectors[[2, 4, 6]]) and some.starts.tolist() == [0, 1, 3]
    assert found.with_speakers(["b", "nobody"]).utts == ("b-1", "b-2", "b-3", "b-4", "b-5")
    assert found.with_utterances(["b-5", "a-1", "c-1"]).utts == ("a-1", "b-5")
    with pytest.raises(InputError, match="none of the utterances or speakers"):
        found.with_utterances(["c-1"])


def edit(path, old, new):
    path.write_text(path.read_text().replace(old, new))


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(InputError, match="none: no such embedding directory"):
        read_embeddings(tmp_path / "none")


def test_an_utterance_without_a_speaker_is_named_with_its_line(directory):
    edit(directory / "utt2spk", "b-2 b\n", "")
    with pytest.raises(InputError, match=r"embedding\.scp:5: utterance 'b-2' is not in"):
        read_embeddings(directory)


def test_an_utterance_without_a_vector_is_named_with_its_line(directory):
    edit(directory / "utt2spk", "b-2 b\n", "b-2 b\nb-22 b\n")
    with pytest.raises(InputError, match=r"utt2spk:6: utterance 'b-22' has no vector"):
        read_embeddings(directory)


def test_a_speaker_that_the_other_directory_lacks_is_named_with_its_line(directory, tmp_path):
    write_embeddings(tmp_path / "more", {"a-9": np.ones(4), "c-1": np.ones(4)}, {"a-9": "a", "c-1": "c"})
    with pytest.raises(InputError, match=r"more/utt2spk:2: speaker 'c' is not in"):
        read_embeddings(directory).find(read_embeddings(tmp_path / "more"))


def test_another_dimension_is_an_error(directory, tmp_path):
    write_embeddings(tmp_path / "more", {"a-9": np.ones(5)}, {"a-9": "a"})
    with pytest.raises(InputError, match="dimension 5"):
        read_embeddings(directory).find(read_embeddings(tmp_path / "more"))


def test_vectors_that_cancel_out_are_an_error(tmp_path):
    write_embeddings(tmp_path / "zero", {"a-1": np.ones(2), "a-2": -np.ones(2)}, {"a-1": "a", "a-2": "a"})
    found = read_embeddings(tmp_path / "zero")
    with pytest.raises(InputError, match="speaker 'a' average to zero"):
        found.means(np.array([0]))


def test_only_an_embedding_directory_is_replaced(directory):
    write_embeddings(directory, {"c-1": np.ones(2)}, {"c-1": "c"})
    assert read_embeddings(directory).speakers == ("c",)
    (directory / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="would be lost"):
        write_embeddings(directory, {"c-1": np.ones(2)}, {"c-1": "c"})
    assert (directory / "thesis.tex").exists()


@pytest.mark.parametrize(("second", "said"), [([1.0, 2.0], True), ([1.0, 2.5], False)])
def test_it_is_said_when_all_vectors_are_the_same(caplog, second, said):
    results = [("a-1", [1.0, 2.0]), ("b-1", second)]
    packed = ((utt, pack_vector(np.array(v, np.float32))) for utt, v in results)
    vectors, symbols = stack_results(["a-1", "b-1"], packed, Path("exp/x"))
    assert vectors.tolist() == [[1.0, 2.0], second] and symbols is None
    assert ("all vectors are the same" in caplog.text) == said
